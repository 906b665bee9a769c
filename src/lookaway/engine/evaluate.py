"""Plan, run, resume."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from lookaway.core import Compute, Dataset, Executor, Metric, ProtocolName, Resources, UserError, plugins
from lookaway.engine.about import about, growth_of_run, joined_protocol, requested_options
from lookaway.engine.binding import bind_metrics
from lookaway.engine.judging import asks_judge, require_trigger, with_judge, without_judged_gates
from lookaway.engine.limits import RolloutLimits
from lookaway.engine.plan import make_plan
from lookaway.engine.reading import FALLBACK_SUITE, read
from lookaway.engine.run import Run
from lookaway.engine.scorer import Scorer, VideoScores
from lookaway.engine.session import Progress, Session
from lookaway.engine.shard import Shard, require_same_shard
from lookaway.engine.shared_services import shared_services
from lookaway.engine.smoke import choose_smoke
from lookaway.io.object_storage import as_path
from lookaway.judges.settings import JudgeSettings
from lookaway.store.run_folder import RunFolder
from lookaway.store.writer import sole_writer

LOG = logging.getLogger(__name__)
IN_MEMORY_OPTIONS = ("suite", "fps")
AXES_OF_A_VIDEO = 4


@overload
def evaluate(
    source: Dataset | Path | str,
    output: Path | str,
    *,
    metrics: Sequence[str | Metric] | None = None,
    protocol: ProtocolName | None = None,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
    judge: JudgeSettings | None = None,
    ignore_triggers: bool = False,
    executor: str = "inline",
    resources: Resources | None = None,
    features: Path | str | None = None,
    shard: Shard | None = None,
    smoke: bool = False,
    new: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Any,
) -> Run: ...


@overload
def evaluate(
    source: Any,
    *,
    metrics: Sequence[str | Metric] | None = None,
    protocol: ProtocolName | None = None,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
    suite: str = FALLBACK_SUITE,
    fps: float = 16.0,
) -> list[VideoScores]: ...


def evaluate(  # noqa: PLR0913 - a call of it reads like the command line, and all have defaults
    source: Any,
    output: Path | str | None = None,
    *,
    metrics: Sequence[str | Metric] | None = None,
    protocol: ProtocolName | None = None,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
    judge: JudgeSettings | None = None,
    ignore_triggers: bool = False,
    executor: str = "inline",
    resources: Resources | None = None,
    features: Path | str | None = None,
    shard: Shard | None = None,
    smoke: bool = False,
    new: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_note: Callable[[str], None] | None = None,
    **options: Any,
) -> Run | list[VideoScores]:
    """Measure every rollout of a dataset, or what a run that was cut off still lacks.

    `metrics` names a part of the suite's protocol, any installed metric or the whole protocol of another suite, or
    holds metrics themselves: `[Flicker(), "rendering_lighting", "mind"]`. The source of a class that no entry point
    leads to is part of the lock, and workers of Ray import its module, unless it is the script itself. `protocol` is
    that of the publication with its defects (`published`, where nothing is said), or `corrected`, or `both`; a folder
    that has one and is given the other holds both. `using` names other extractors for features, and `compute` says
    where networks run, and how precisely. `judge` answers questions, where a metric has any; without one, gates that
    need it are left out. With `ignore_triggers`, rollouts count, too, that a trigger of the publication leaves out.
    `executor` runs the work, with `resources`; a rollout that passes one of their limits abstains. `features` is a
    folder of features to share between runs; otherwise they are kept with the run. Folders may be on object storage,
    such as `s3://bucket/run`. `shard` is the part of the dataset that this run measures; `merge` joins the runs of all
    parts. With `smoke`, every metric is tried on one rollout first. A folder that holds numbers of another dataset, or
    of other options, is refused, unless a `new` run is to take its place; `on_note` is called with one line if the
    folder's run grows. One process at a time writes a folder. Other options go to `read`; a dataset that was read
    already takes none.

    Without an `output`, `source` is one or several videos, paths or uint8 frames as `Scorer` takes them. They are
    measured at once, nothing is written, and each has its scores: `evaluate(frames, metrics=["light"], fps=8)`.
    """
    if output is None:
        of_runs = {"judge": judge, "resources": resources, "features": features, "shard": shard, "smoke": smoke}
        told = {"on_progress": on_progress, "on_note": on_note}
        _refuse_in_memory({**of_runs, **told, "ignore_triggers": ignore_triggers, "new": new, **options}, executor)
        suite = options.pop("suite", FALLBACK_SUITE)
        scorer = Scorer(metrics, suite=suite, protocol=protocol, using=using, compute=compute)
        return _evaluate_videos(source, scorer, options)
    dataset = _read(source, options)
    folder = RunFolder(as_path(output).absolute())  # workers may be in another folder
    if not new:
        require_same_shard(folder, shard)
        protocol = joined_protocol(folder, protocol)
    bound = bind_metrics(dataset, metrics, protocol=protocol, using=using, compute=compute)
    if ignore_triggers:
        require_trigger(bound)
    if judge is None or ignore_triggers:
        bound = without_judged_gates(bound)
    judge = judge if asks_judge(bound) else None
    plan = make_plan(dataset, bound if judge is None else with_judge(bound, judge, folder.path), shard)
    pool: Executor = plugins.load("executors", executor)(resources)
    limits = RolloutLimits.of(resources or Resources(), plan.metrics) if pool.can_end_workers else None
    services = {}
    if pool.has_services:
        replicas = resources.replicas if resources else {}
        services = shared_services(plan.metrics, replicas, judge, folder.path)
    names = None if metrics is None else [entry if isinstance(entry, str) else entry.name for entry in metrics]
    given: dict[str, Any] = {"metrics": names, "using": using, "compute": compute, "features": features}
    given |= {"protocol": protocol, "ignore_triggers": ignore_triggers}
    description = about(plan, requested_options(judge, dataset.reading, **given))
    with sole_writer(folder.path) as require_sole:
        if not new and (note := growth_of_run(RunFolder(as_path(output)), plan, description)):
            (on_note or LOG.info)(note)
        folder.start(plan.lock, plan.rollouts, description)
        folder.set_aside_damaged()
        work = plan.work(folder, limits)
        first = choose_smoke(plan, work, folder) if smoke else None

        def notify(progress: Progress) -> None:
            require_sole()
            if on_progress is not None:
                on_progress(progress)

        Session(
            folder=folder,
            features=as_path(features or folder.features).absolute(),
            metrics=plan.metrics,
            judge=judge,
            executor=pool,
            services=services,
            limits=limits,
            notify=notify,
        ).run(work, first)
    if first is not None:
        first.require_passed()
    return Run(folder.path)


def _refuse_in_memory(given: Mapping[str, Any], executor: str) -> None:
    names = [name for name, value in given.items() if value and name not in IN_MEMORY_OPTIONS]
    if executor != "inline":
        names.append("executor")
    if names:
        raise UserError(
            f"{', '.join(names)}: for runs, and nothing says where to write one. Name a folder, such as "
            "evaluate(videos, 'runs/first'), or leave it out."
        )


def _evaluate_videos(source: Any, scorer: Scorer, options: Mapping[str, Any]) -> list[VideoScores]:
    if isinstance(source, Dataset) or (isinstance(source, str | Path) and Path(source).is_dir()):
        raise UserError("A folder of videos needs one for its numbers too: evaluate(videos, 'runs/first').")
    is_one = isinstance(source, str | Path) or getattr(source, "ndim", None) == AXES_OF_A_VIDEO
    return scorer.batch([source] if is_one else source, **options)


def _read(source: Dataset | Path | str, options: Mapping[str, Any]) -> Dataset:
    if not isinstance(source, Dataset):
        return read(source, **options)
    if options:
        raise UserError(
            f"{', '.join(sorted(options))}: the dataset was read already, and options are for reading it. "
            "Give it to `lookaway.read`, or give `evaluate` the folder."
        )
    return source
