"""Runs of any size with values that are drawn: models differ by their skill, scenes by how hard they are."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.core import Abstention, Case, Lock, Outcome, Reason, Rollout, Score, Unit
from lookaway.engine.run import Run
from lookaway.io.files import write_whole
from lookaway.store.outcome_rows import Measured, rows, write_rows
from lookaway.store.run_folder import RunFolder, rollout_rows

KINDS = ("rendering_style", "object_texture", "object_geometry", "human_appearance", "rendering_lighting")
"""Installed metrics from 0 to 1, of which higher is better."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """A run; `decide` may replace what is drawn for a model, case number and metric by another outcome."""

    path: Path
    skills: Mapping[str, float]
    metrics: Sequence[str]
    """Names such as `mbencht.environment.rendering_style`; the last part is the kind, the one before it the subset."""
    scenes: int = 40
    seeds: int = 1
    frames: int = 0
    suite: str = "mbench-t"
    locks: Mapping[str, str] = field(default_factory=dict)
    triggered: Mapping[str, float] = field(default_factory=dict)
    """By model, how often it meets the challenge; empty is without a gate."""
    decide: Callable[[str, int, str], Outcome | None] = lambda model, number, metric: None
    about: Mapping[str, Any] = field(default_factory=dict)
    identity: str = "made"

    def write(self) -> Run:
        """Write the folder."""
        folder = RunFolder(self.path)
        names = [*self.metrics, *(self.gates if self.triggered else ())]
        rollouts, measured = [], []
        for subset in self.subsets:
            for rollout, number in self.rollouts(subset):
                rollouts.append((rollout, "c" * 32))
                for name in names:
                    if subset_of(name) == subset:
                        outcome = self.outcome(rollout, number, name)
                        measured.append(
                            Measured(
                                rollout=rollout.id, content="c" * 32, metric=name, lock=self.lock(name), outcome=outcome
                            )
                        )
        lock = self.entries(names)
        about = {
            "lookaway": "0.1.0",
            "suite": self.suite,
            "dataset": "a/dataset",
            "lock_sha256": lock.sha256,
            "rollouts": len(rollouts),
            "problems": [],
            "metrics": [
                {
                    "name": name,
                    "lock": self.lock(name),
                    "subsets": [subset_of(name)],
                    "is_gate": name.endswith(".trigger"),
                }
                for name in names
            ],
            **self.about,
        }
        folder.start(lock, rollouts, about)
        assert rollout_rows(rollouts).num_rows == len(rollouts)
        if measured:
            write_whole(folder.outcomes / "all.parquet", lambda file: write_rows(rows(measured), file))
        return Run(self.path)

    @property
    def subsets(self) -> list[str]:
        """Subsets of the metrics."""
        return list(dict.fromkeys(subset_of(name) for name in self.metrics))

    @property
    def gates(self) -> list[str]:
        """The gate of every subset."""
        return [f"mbencht.{subset}.trigger" for subset in self.subsets]

    def lock(self, name: str) -> str:
        """The hash of a metric's lock."""
        return self.locks.get(name, f"{zlib.crc32(name.encode()):08x}" * 4)

    def entries(self, names: Sequence[str]) -> Lock:
        """The lock of the run."""
        return Lock(
            {
                "suite": {"name": self.suite, "version": 1},
                "dataset": {
                    "identity": {"dataset_id": self.identity, "times": {"case": {"mark_time": 9}}},
                    "cases": self.scenes,
                    "cases_sha256": "0" * 64,
                },
                "metrics": {
                    name: {"metric": {"kind": kind_of(name), "lock": self.lock(name)}, "features": {}} for name in names
                },
            }
        )

    def rollouts(self, subset: str) -> list[tuple[Rollout, int]]:
        """All rollouts of a subset with the number of their scene."""
        return [
            (
                Rollout(
                    case=Case(id=f"{subset}:sample_{number:03d}", subset=subset, scene=f"{subset}:{number:03d}"),
                    model=model,
                    video=Path("video.mp4"),
                    seed=str(seed),
                ),
                number,
            )
            for model in self.skills
            for number in range(self.scenes)
            for seed in range(self.seeds)
        ]

    def outcome(self, rollout: Rollout, number: int, name: str) -> Outcome:
        """What is measured; no draw depends on what models and metrics are called."""
        decided = self.decide(rollout.model, number, name)
        if decided is not None:
            return decided
        model, metric = list(self.skills).index(rollout.model), [*self.metrics, *self.gates].index(name)
        random = np.random.default_rng([model, metric, number, int(rollout.seed)])
        if name.endswith(".trigger"):
            return Score(float(random.random() < self.triggered[rollout.model]))
        hardness = np.random.default_rng([metric, number]).normal(0, 0.06)
        value = float(np.clip(self.skills[rollout.model] + hardness + random.normal(0, 0.05), 0.01, 0.99))
        if not self.frames:
            return Score(value)
        slope = (1 - self.skills[rollout.model]) / self.frames
        units = tuple(
            Unit(f"f{frame}", Score(float(np.clip(value - slope * frame + random.normal(0, 0.02), 0, 1))))
            for frame in range(self.frames)
        )
        return Score(value, units=units)


def subset_of(name: str) -> str:
    """The part before the last."""
    return name.split(".")[-2]


def kind_of(name: str) -> str:
    """The last part; the gate is installed under another name."""
    last = name.rpartition(".")[2]
    return {"trigger": "triggered"}.get(last, last.split("#")[0])


ABSTAINED = Abstention(Reason.TOO_FEW_MATCHES, "too few.")
