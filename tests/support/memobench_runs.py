"""Runs of MemoBench whose every outcome the test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lookaway.core import BoundMetric, Case, Lock, Outcome, Rollout
from lookaway.engine.locking import metric_entries
from lookaway.engine.run import Run
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from lookaway.suites.memobench import MemoBench

LOWER_IS_BETTER = ("lpips",)
Outcomes = Mapping[tuple[str, str], Mapping[str, Outcome]]
"""By model and case, then by metric. The case `synthetic/Nordic_003` belongs to the scene Nordic."""


def memobench_run(
    path: Path,
    outcomes: Outcomes,
    *,
    suite: str = "memobench",
    metrics: Sequence[str] | None = None,
    scene: str | None = None,
    changed: Mapping[str, BoundMetric] | None = None,
) -> Run:
    """`metrics` are those that were requested, by default all that have an outcome; `changed` were bound otherwise."""
    rollouts, measured = [], []
    for (model, name), found in outcomes.items():
        subset, _, clip = name.partition("/")
        case = Case(id=name, subset=subset, scene=scene or clip.rpartition("_")[0] or clip)
        rollout = Rollout(case=case, model=model, video=Path("nowhere.mp4"))
        rollouts.append(rollout)
        measured += [
            Measured(rollout=rollout.id, content="c", metric=metric, lock="l", outcome=outcome)
            for metric, outcome in found.items()
        ]
    requested = metrics or list(dict.fromkeys(metric for found in outcomes.values() for metric in found))
    listed = [
        {
            "name": metric,
            "lock": "l",
            "subsets": None,
            "is_gate": metric.endswith(".revisited"),
            "is_consistency": ".visible." not in metric,
            "unit": "score",
            "range": [None, None] if "psnr" in metric else [0.0, 1.0],
            "higher_is_better": not metric.endswith(LOWER_IS_BETTER),
        }
        for metric in requested
    ]
    bound = {bound.name: bound for bound in MemoBench().metrics({"has_question_banks": True})}
    entries = {
        metric: metric_entries((changed or {}).get(metric, bound[metric])) for metric in requested if metric in bound
    }
    lock = Lock({"dataset": {"settings": {"has_question_banks": True}}, "metrics": entries})
    folder = RunFolder(path)
    folder.start(
        lock,
        [(rollout, "c") for rollout in rollouts],
        {"suite": suite, "lock_sha256": lock.sha256, "metrics": listed, "problems": []},
    )
    folder.add(measured)
    return Run(path)
