"""Runs of WRBench whose every outcome the test chooses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lookaway.core import Case, Lock, Outcome, Rollout
from lookaway.engine.run import Run
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder


def attributed_run(
    path: Path, outcomes: Mapping[tuple[str, str], Mapping[str, Outcome]], *, suite: str = "wrbench"
) -> Run:
    """By model and case, then by metric."""
    rollouts, measured = [], []
    for (model, name), found in outcomes.items():
        subset = "static" if name.endswith("static") else "yaw"
        case = Case(id=name, subset=subset, scene=name.partition("__")[0])
        rollout = Rollout(case=case, model=model, video=Path("nowhere.mp4"))
        rollouts.append(rollout)
        measured += [
            Measured(rollout=rollout.id, content="c", metric=metric, lock="l", outcome=outcome)
            for metric, outcome in found.items()
        ]
    listed = [
        {
            "name": metric,
            "lock": "l",
            "subsets": None,
            "is_gate": metric == "wrbench.reobserved",
            "is_consistency": "returned" in metric,
            "unit": "score",
            "range": [0.0, 1.0],
            "higher_is_better": True,
        }
        for metric in dict.fromkeys(metric for found in outcomes.values() for metric in found)
    ]
    lock = Lock({})
    folder = RunFolder(path)
    folder.start(
        lock,
        [(rollout, "c") for rollout in rollouts],
        {"suite": suite, "lock_sha256": lock.sha256, "metrics": listed, "problems": []},
    )
    folder.add(measured)
    return Run(path)
