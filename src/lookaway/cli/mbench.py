"""`lookaway mbench`: the commands of the original MBench tool, with its flags, run by ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.eval import EXIT_WITH_FAILURES
from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH, new_option, print_note, split_names
from lookaway.cli.validate import EXIT_INVALID

if TYPE_CHECKING:
    from lookaway.core import Dataset, Problem, Rollout
    from lookaway.judges.settings import JudgeSettings

Command = TypeVar("Command", bound=Callable[..., Any])
PREFIXES = {"mbench-a": "mbencha.", "mbench-t": "mbencht."}
GATED_SUITE = "mbench-t"
PINNED_FRAMES = 8
NOTHING_TO_PREPARE = (
    "There is nothing to prepare: `lookaway eval` computes what a metric needs and stores it with the run. If a video "
    "has no results.npz, add --use poses=tracked_poses."
)


def _source_options(command: Command) -> Command:
    decorators = [
        click.argument("source", type=PATH),
        click.option("--metrics", callback=split_names, required=True, metavar="A,B", help="Metrics to run."),
        click.option("--models", callback=split_names, default="", metavar="A,B", help="Only these models."),
        click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets."),
        click.option("--limit", type=COUNT, help="Only the first N cases of each model and subset."),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@click.group("mbench")
def mbench_command() -> None:
    """Commands of the original MBench tool: type `lookaway` before `mbench` and keep the rest.

    Runs the commands of lookaway and writes the files of the original.
    """


@mbench_command.command("list-metrics")
def list_metrics_command() -> None:
    """List the registered metrics with a one-line description."""
    import inspect

    from lookaway.engine.reading import load_suite
    from lookaway.reports.numbers import print_rows

    bounds = [
        bound
        for suite, prefix in PREFIXES.items()
        for bound in load_suite(suite).metrics({})
        if bound.name.startswith(prefix) and bound.is_of("published") and not bound.is_gate
    ]
    about = {bound.name: (inspect.getdoc(bound.metric) or "").partition("\n")[0] for bound in bounds}
    print_rows([{"metric": name, "measures": text} for name, text in about.items()], as_json=False)


@mbench_command.command("validate")
@_source_options
def validate_command(source: Path, metrics: tuple[str, ...], **options: Any) -> int:
    """Check SOURCE strictly. Exits with 2 if it has a problem."""
    from lookaway.engine.binding import bind_metrics
    from lookaway.engine.coverage import coverage, is_whole
    from lookaway.engine.judging import without_gates
    from lookaway.reports.plan import print_coverage

    dataset = _read(source, **options)
    bounds = without_gates(bind_metrics(dataset, _of_setting(dataset, metrics)))
    covered = coverage(dataset, bounds)
    print_coverage(dataset, covered, as_json=False)
    return 0 if is_whole(dataset, covered) else EXIT_INVALID


@mbench_command.command("eval")
@_source_options
@click.option("--output", type=FOLDER_OR_URL, required=True, help="Folder to write or resume.")
@click.option("--conditions", callback=split_names, default="", metavar="A,B", help="Only these condition ids.")
@click.option("--sample-ids", callback=split_names, default="", metavar="A,B", help="Only these samples.")
@click.option("--vlm-judge", type=click.Choice(["openai-compatible"]), help="Ask a judge which rollouts are triggered.")
@click.option("--vlm-base-url", help="URL of its server; also MBENCH_VLM_BASE_URL.")
@click.option("--vlm-api-key", help="API key; prefer MBENCH_VLM_API_KEY, which other users cannot see.")
@click.option("--vlm-model", help="Model of the judge; also MBENCH_VLM_MODEL.")
@click.option(
    "--vlm-n-frames", type=int, default=PINNED_FRAMES, show_default=True, help="Number of frames shown to the judge."
)
@click.option(
    "--vlm-max-retries", type=click.IntRange(min=0), default=3, show_default=True, help="Retries after the first try."
)
@click.option("--workers", type=COUNT, default=1, show_default=True, help="Number of workers; more than one needs Ray.")
@click.option("--ignore-trigger", is_flag=True, help="Ignore the trigger gate and count every rollout.")
@new_option
@click.option("--no-progress-bar", is_flag=True, help="No progress bar; the table is still printed.")
@click.option("--quiet", is_flag=True, help="Print only errors.")
@click.option("--no-log-file", is_flag=True, help="Write no eval.log.")
def eval_command(source: Path, metrics: tuple[str, ...], output: Path, quiet: bool, **options: Any) -> int:
    """Measure every rollout of SOURCE and write items.jsonl, eval.log and metrics/ into the output folder.

    The output folder is also a lookaway run: `lookaway show` prints it.
    """
    from lookaway.core import Resources
    from lookaway.engine.evaluate import evaluate
    from lookaway.reports.export.mbench import export_mbench
    from lookaway.reports.progress import progress_bar
    from lookaway.reports.table import print_table

    names = ("models", "subsets", "conditions", "sample_ids", "limit")
    dataset = _read(source, **{name: options.pop(name) for name in names})
    with progress_bar(enabled=not (quiet or options["no_progress_bar"])) as on_progress:
        run = evaluate(
            dataset,
            output,
            metrics=_of_setting(dataset, metrics),
            judge=_judge(options, dataset),
            ignore_triggers=dataset.suite == GATED_SUITE
            and (options["ignore_trigger"] or options["vlm_judge"] is None),
            executor="inline" if options["workers"] == 1 else "ray",
            resources=Resources(workers=options["workers"]),
            new=options["new"],
            on_progress=on_progress,
            on_note=None if quiet else print_note,
        )
    export_mbench(run, output, log=not options["no_log_file"])
    table = run.table()
    if not quiet:
        print_table(run, table, as_json=False, layout="rows")
    return EXIT_WITH_FAILURES if any(cell.failures for cell in table.cells) else 0


@mbench_command.command("prepare", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def prepare_command(arguments: tuple[str, ...]) -> None:
    """Not needed: `eval` computes what each metric needs."""
    from lookaway.core import UserError

    raise UserError(NOTHING_TO_PREPARE)


def _read(
    source: Path,
    *,
    conditions: tuple[str, ...] = (),
    sample_ids: tuple[str, ...] = (),
    limit: int | None,
    **chosen: Any,
) -> Dataset:
    """The dataset, or a part of it; only MBench datasets."""
    from lookaway.core import DatasetError, UnknownName
    from lookaway.engine.reading import read

    dataset = read(source, **chosen)
    if dataset.suite not in PREFIXES:
        raise DatasetError(
            f"{source}: not an MBench dataset; expected a dataset.yaml with dataset_id: mbencha or mbencht."
        )
    for kind, wanted, known_of in (("condition", conditions, _condition), ("sample", sample_ids, _sample)):
        known = {known_of(rollout) for rollout in dataset.rollouts}
        for name in wanted:
            if name not in known:
                raise UnknownName(kind, name, known)
    problems = tuple(problem for problem in dataset.problems if _concerns(problem, **chosen))
    return replace(dataset, problems=problems).select(
        lambda rollout: (
            (not conditions or _condition(rollout) in conditions) and (not sample_ids or _sample(rollout) in sample_ids)
        ),
        limit,
    )


def _concerns(problem: Problem, models: tuple[str, ...], subsets: tuple[str, ...]) -> bool:
    """Whether it may concern the chosen models and subsets; the original checks nothing else."""
    kind, _, rest = problem.where.replace("subset ", "subset/", 1).partition("/")
    chosen = {"models": models, "subset": subsets, "samples": subsets}.get(kind)
    return not chosen or rest.partition("/")[0] in chosen


def _sample(rollout: Rollout) -> str:
    """The case id is {subset}:{sample_id}:{condition_id}."""
    return rollout.case.id.removeprefix(f"{rollout.case.subset}:").rpartition(":")[0]


def _condition(rollout: Rollout) -> str:
    return rollout.case.id.rpartition(":")[2]


def _of_setting(dataset: Dataset, metrics: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics of the dataset's setting; others are left out with a note, as in the original."""
    from lookaway.core import UserError
    from lookaway.reports.as_published import is_corrected

    other = tuple(prefix for suite, prefix in PREFIXES.items() if suite != dataset.suite)
    chosen = tuple(name for name in metrics if not name.startswith(other))
    if not chosen:
        raise UserError(
            f"{dataset.root} is a dataset of {dataset.suite}, whose metric names start with "
            f"{PREFIXES[dataset.suite]!r}; found {', '.join(metrics)!r}."
        )
    if repaired := [name for name in chosen if is_corrected(name)]:
        raise UserError(
            f"MBench's files hold published values, found the corrected {', '.join(repaired)}. Measure these with: "
            "lookaway eval SOURCE -o RUN --protocol corrected"
        )
    if left_out := [name for name in metrics if name not in chosen]:
        click.echo(f"note: left out, since they belong to the other setting: {', '.join(left_out)}", err=True)
    return chosen


def _judge(options: dict[str, Any], dataset: Dataset) -> JudgeSettings | None:
    """The judge of flags or environment. Without --vlm-judge it answers metrics but is no trigger gate."""
    from lookaway.core import JudgeModel, UserError
    from lookaway.judges.client import RetryPolicy
    from lookaway.judges.server import DEFAULT_URL, Connection, Secret, find_setting, read_private_file
    from lookaway.judges.settings import JudgeSettings

    if options["vlm_n_frames"] != PINNED_FRAMES:
        raise UserError(
            f"The protocol shows a judge {PINNED_FRAMES} frames, found --vlm-n-frames {options['vlm_n_frames']}. "
            "Leave the option out."
        )
    flags, file = {"model": "vlm_model", "url": "vlm_base_url", "key": "vlm_api_key"}, read_private_file(None)
    model, url, key = (find_setting(name, options[flag], file) for name, flag in flags.items())
    if not model:
        if options["vlm_judge"] and not options["ignore_trigger"] and dataset.suite == GATED_SUITE:
            raise UserError("--vlm-judge needs a model: set --vlm-model or MBENCH_VLM_MODEL.")
        return None
    return JudgeSettings(
        model=JudgeModel(model=model),
        connection=Connection(url=url or DEFAULT_URL, key=Secret(key)),
        policy=RetryPolicy(tries=1 + options["vlm_max_retries"]),
    )
