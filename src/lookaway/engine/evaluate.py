"""Plan, run, resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lookaway.core import Compute, Dataset, Executor, Json, Resources, plugins
from lookaway.engine.binding import bind_metrics
from lookaway.engine.judging import asks_judge, with_judge, without_gates
from lookaway.engine.locking import metric_key
from lookaway.engine.plan import Plan, make_plan
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.engine.session import Progress, Session
from lookaway.engine.sharing import shared_services
from lookaway.io.places import place
from lookaway.judges.settings import JudgeSettings
from lookaway.store.run_folder import RunFolder


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
    resources: Resources | None = None,
    features: Path | str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> Run:
    """Measure every rollout of a dataset, or what a run that was cut off still lacks.

    `metrics` names a part of the suite's protocol, or any installed metric. `using` names other extractors for
    features, and `compute` says where networks run, and how precisely. `judge` says who answers questions, where a
    metric has any; without one, and with `ignore_gates`, no gate says which rollouts count. `executor` runs the work,
    with `resources`. `features` is a folder of features to share between runs; otherwise they are kept with the run.
    Folders may be on object storage, such as `s3://bucket/run`. Other options go to `read`.
    """
    dataset = source if isinstance(source, Dataset) else read(source, **reading)
    folder = RunFolder(place(output))
    bound = bind_metrics(dataset, metrics, using=using, compute=compute)
    if judge is None or ignore_gates:
        bound = without_gates(bound)
    judge = judge if asks_judge(bound) else None
    plan = make_plan(dataset, bound if judge is None else with_judge(bound, judge, folder.path))
    chosen: Executor = plugins.load("executors", executor)(resources)
    services = {}
    if chosen.has_services:
        actors = resources.actors if resources else {}
        services = shared_services(plan.metrics, actors, judge, folder.path)
    folder.begin(plan.lock, plan.rollouts, _about(plan))
    Session(
        folder=folder,
        features=place(features or folder.features),
        metrics=plan.metrics,
        judge=judge,
        executor=chosen,
        services=services,
        notify=on_progress or (lambda progress: None),
    ).run(plan.work(folder))
    return Run(folder.path)


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
