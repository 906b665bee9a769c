"""Plan, run, resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lookaway.core import BoundMetric, Compute, Dataset, Executor, Json, plugins
from lookaway.engine.binding import bind_metrics
from lookaway.engine.judging import asks_judge, with_judge, without_gates
from lookaway.engine.locking import metric_key
from lookaway.engine.plan import Plan, make_plan
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.engine.worker import Report, RolloutWorker
from lookaway.io.places import place
from lookaway.judges.patient_asking import PatientAsking
from lookaway.judges.settings import JudgeSettings
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import COMPACT_AFTER_PARTS, RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    done: int
    total: int
    failures: int
    last: Report | None


def evaluate(  # noqa: PLR0913 - a call of it reads like the command line, and all have defaults
    source: Dataset | Path | str,
    output: Path | str,
    *,
    metrics: Sequence[str] | None = None,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
    judge: JudgeSettings | None = None,
    ignore_gates: bool = False,
    executor: str = "inline",
    features: Path | str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> Run:
    """Measure every rollout of a dataset, or what a run that was cut off still lacks.

    `metrics` names a part of the suite's protocol, or any installed metric. `using` names other extractors for
    features, and `compute` says where networks run, and how precisely. `judge` says who answers questions, where a
    metric has any; without one, and with `ignore_gates`, no gate says which rollouts count. `features` is a folder of
    features to share between runs; otherwise they are kept with the run. Other options go to `read`.
    """
    dataset = source if isinstance(source, Dataset) else read(source, **reading)
    folder = RunFolder(place(output))
    bound = bind_metrics(dataset, metrics, using=using, compute=compute)
    if judge is None or ignore_gates:
        bound = without_gates(bound)
    judge = judge if asks_judge(bound) else None
    plan = make_plan(dataset, bound if judge is None else with_judge(bound, judge, folder.path))
    chosen: Executor = plugins.load("executors", executor)()
    folder.begin(plan.lock, plan.rollouts, _about(plan))
    work = plan.work(folder)
    asking = None if judge is None else partial(judge.asking, folder.path, workers=chosen.workers)
    make = partial(make_worker, folder, place(features or folder.features), plan.metrics, asking)
    at_once = 1 if judge is None else judge.manners.share(chosen.workers).concurrent
    failures = 0
    notify = on_progress or (lambda progress: None)
    notify(Progress(done=0, total=len(work), failures=0, last=None))
    for done, report in enumerate(chosen.map(make, work, at_once), start=1):
        failures += report.failures
        if done % COMPACT_AFTER_PARTS == 0:
            folder.compact()
        notify(Progress(done=done, total=len(work), failures=failures, last=report))
    folder.compact()
    return Run(folder.path)


def make_worker(
    folder: RunFolder,
    features: Path,
    metrics: Sequence[BoundMetric],
    make_asking: Callable[[], PatientAsking] | None = None,
) -> RolloutWorker:
    """A worker of a run."""
    bounds = {bound.name: bound for bound in metrics}
    return RolloutWorker(folder, FeatureStore(features), bounds, make_asking() if make_asking else None)


def _about(plan: Plan) -> Json:
    return {
        "lookaway": version("lookaway"),
        "suite": plan.dataset.suite,
        "dataset": str(plan.dataset.root),
        "lock_sha256": plan.lock.sha256,
        "rollouts": len(plan.rollouts),
        "metrics": [
            {
                "name": bound.name,
                "lock": metric_key(bound),
                "subsets": bound.subsets and list(bound.subsets),
                "is_gate": bound.is_gate,
            }
            for bound in plan.metrics
        ],
        "problems": [{"where": problem.where, "message": problem.message} for problem in plan.dataset.problems],
    }
