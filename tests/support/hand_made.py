"""Runs of MBench whose every outcome the test chooses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lookaway.core import Case, Lock, Outcome, Rollout, Score
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder

Outcomes = Mapping[str, Mapping[tuple[str, str], Outcome]]
"""By metric, then by model and sample; a sample of a metric belongs to the metric's subset."""


def scores(model: str, *values: float) -> dict[tuple[str, str], Outcome]:
    """One score a sample; the samples are called s0, s1 and so on."""
    return {(model, f"s{number}"): Score(value) for number, value in enumerate(values)}


def hand_made_run(path: Path, suite: str, outcomes: Outcomes, lock: Mapping[str, Any] | None = None) -> Run:
    """A finished run; every sample is a scene of its own."""
    bound_metrics = load_suite(suite).metrics({})
    subsets = {bound.name: bound.subsets for bound in bound_metrics}
    ranges = {bound.name: list(bound.metric.range) for bound in bound_metrics}
    protocols = {bound.name: bound.protocol for bound in bound_metrics}
    rollouts: dict[str, Rollout] = {}
    measured = []
    for metric, found in outcomes.items():
        for (model, sample), outcome in found.items():
            subset = (subsets.get(metric) or ("environment",))[0]
            case = Case(id=f"{subset}:{sample}:text", subset=subset, scene=sample)
            rollout = Rollout(case=case, model=model, video=Path("video.mp4"))
            rollouts[rollout.id] = rollout
            measured.append(Measured(rollout=rollout.id, content="c", metric=metric, lock="l", outcome=outcome))
    entries = lock or {"suite": {"name": suite}, "metrics": {name: {"metric": {"tau": 10.0}} for name in outcomes}}
    about = {
        "suite": suite,
        "lock_sha256": Lock(entries).sha256,
        "metrics": [
            {
                "name": name,
                "lock": "l",
                "subsets": subsets.get(name) and list(subsets[name] or ()),
                "is_gate": name.endswith((".trigger", ".revisited")),
                "is_consistency": "camera_interaction" not in name,
                "protocol": protocols.get(name),
                "range": ranges.get(name, [None, None]),
            }
            for name in outcomes
        ],
        "problems": [],
    }
    folder = RunFolder(path)
    folder.start(Lock(entries), [(rollout, "c") for rollout in rollouts.values()], about)
    folder.add(measured)
    return Run(path)
