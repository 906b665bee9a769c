"""Runs of the suite revisit whose every outcome the test chooses, without videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lookaway.core import Abstention, Case, Lock, Outcome, Reason, Rollout, Score
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from lookaway.training.pairs.export import PairOptions, export_pairs

LIGHT, LOOK, GATE = "light", "look", "revisited"
SMALLEST = 0.1
"""Smallest difference of every metric, unless a test chooses another."""
OPEN, CLOSED = Score(1.0), Score(0.0)
UNKNOWN = Abstention(Reason.POSE_FAILED, "no poses")


@dataclass(frozen=True, kw_only=True)
class Clip:
    """A rollout with its outcomes by metric."""

    model: str
    outcomes: Mapping[str, Outcome]
    case: str = "case0"
    scene: str = ""
    """By default the case."""
    seed: str = "0"
    subset: str = "all"
    content: str = ""
    video: str = ""

    @property
    def rollout(self) -> Rollout:
        """As a dataset would have it."""
        video = self.video or f"/videos/{self.model}/{self.case}-{self.seed}.mp4"
        case = Case(id=self.case, subset=self.subset, scene=self.scene or self.case)
        return Rollout(case=case, model=self.model, video=Path(video), seed=self.seed)

    @property
    def key(self) -> str:
        """Hash of its content."""
        return self.content or f"content of {self.model} {self.case} {self.seed}"


def clip(model: str, light: float | Outcome, case: str = "case0", gate: Outcome | None = OPEN, **more: Any) -> Clip:
    """A rollout with a score of `light`, that passed the gate."""
    outcomes: dict[str, Outcome] = {LIGHT: Score(light) if isinstance(light, float) else light}
    if gate is not None:
        outcomes[GATE] = gate
    outcomes |= more.pop("outcomes", {})
    return Clip(model=model, case=case, outcomes=outcomes, **more)


@dataclass(frozen=True, kw_only=True)
class MadeMetric:
    """A metric as `run.json` has it."""

    name: str
    lock: str = ""
    is_gate: bool = False
    is_consistency: bool = True
    higher_is_better: bool = True
    range: tuple[float | None, float | None] = (0.0, 1.0)
    subsets: tuple[str, ...] | None = None
    features: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry(self) -> dict[str, Any]:
        """Its entry."""
        return {
            "name": self.name,
            "lock": self.lock or f"lock of {self.name}",
            "subsets": self.subsets and list(self.subsets),
            "is_gate": self.is_gate,
            "is_consistency": self.is_consistency and not self.is_gate,
            "unit": "1",
            "range": list(self.range),
            "higher_is_better": self.higher_is_better,
        }


METRICS = (MadeMetric(name=LIGHT), MadeMetric(name=LOOK), MadeMetric(name=GATE, is_gate=True))


def made_run(
    path: Path,
    clips: Sequence[Clip],
    metrics: Sequence[MadeMetric] = METRICS,
    *,
    suite: str = "revisit",
    cards: Mapping[str, str] | None = None,
    **about: Any,
) -> Path:
    """A finished run."""
    entries = {
        "suite": {"name": suite},
        "metrics": {m.name: {"metric": {"lock": m.lock}, "features": dict(m.features)} for m in metrics},
    }
    lock = Lock(entries, cards=cards)
    description = {
        "suite": suite,
        "lock_sha256": lock.sha256,
        "problems": [],
        "metrics": [metric.entry for metric in metrics],
        **about,
    }
    folder = RunFolder(path)
    folder.start(lock, [(one.rollout, one.key) for one in clips], description)
    if cards is not None:
        folder.add_cards(cards)
    locks = {metric.name: metric.entry["lock"] for metric in metrics}
    measured = [
        Measured(rollout=one.rollout.id, content=one.key, metric=name, lock=locks[name], outcome=outcome)
        for one in clips
        for name, outcome in one.outcomes.items()
    ]
    if measured:
        folder.add(measured)
    return path


def sound_clips(scenes: int = 12) -> list[Clip]:
    """Three models in some scenes; `good` is better than `fair`, which is better than `poor`, all tested."""
    values = {"good": 0.9, "fair": 0.6, "poor": 0.2}
    return [
        clip(model, value, f"case{number}", scene=f"scene{number}")
        for number in range(scenes)
        for model, value in values.items()
    ]


def exported(output: Path, *runs: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows of the table of preferences, made without the dataset unless asked."""
    metrics = options.setdefault("metrics", (LIGHT,))
    units = {name: SMALLEST for name in metrics or ()}
    chosen = {"smallest_differences": units, "reads_dataset": False, **options}
    export_pairs(runs, output, PairOptions(**chosen))
    return pq.read_table(output / "preferences.parquet").to_pylist()


def winner(row: Mapping[str, Any]) -> str | None:
    """The model that wins; `None` for a tie."""
    return {"A": row["model_a"], "B": row["model_b"]}.get(row["label"])


def loser(row: Mapping[str, Any]) -> str | None:
    """The model that loses; `None` for a tie."""
    return {"A": row["model_b"], "B": row["model_a"]}.get(row["label"])
