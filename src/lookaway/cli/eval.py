"""`lookaway eval`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import (
    FOLDER_OR_URL,
    SHARE,
    chosen_changes,
    chosen_reading,
    dataset_options,
    ignore_trigger_option,
    json_option,
    layout_option,
    new_option,
    print_note,
    progress_option,
    split_names,
    tell,
)
from lookaway.cli.run_options import (
    chosen_judge,
    chosen_resources,
    executor_options,
    judge_options,
    prompts_option,
    shard_option,
)
from lookaway.cli.suite_options import DatasetCommand

if TYPE_CHECKING:
    from lookaway.core import Table
    from lookaway.engine.run import Run
    from lookaway.reports.table import Layout

EXIT_WITH_FAILURES, EXIT_TOO_FEW_SCORES = 3, 4


@click.command("eval", cls=DatasetCommand)
@dataset_options
@click.option("-o", "--output", type=FOLDER_OR_URL, required=True, help="Run folder to write or resume.")
@judge_options
@prompts_option
@ignore_trigger_option
@executor_options
@click.option("--features", type=FOLDER_OR_URL, help="Folder of features shared between runs.")
@shard_option
@click.option("--smoke", is_flag=True, help="Try every metric on one rollout first.")
@new_option
@click.option(
    "--require-coverage",
    type=SHARE,
    metavar="SHARE",
    help="Exit with 4 if a metric of a model has scores for a smaller share of its rollouts, such as 0.9.",
)
@click.option(
    "--log",
    "trackers",
    callback=split_names,
    metavar="A,B",
    help="Write means, intervals, coverage and gate shares also to tensorboard, trackio or wandb.",
)
@click.option("--quiet", is_flag=True, help="Print only errors.")
@progress_option
@layout_option
@json_option
def eval_command(
    output: Path,
    require_coverage: float | None,
    quiet: bool,
    no_progress: bool,
    layout: Layout,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure every rollout of DATASET and print the table.

    The same command resumes an interrupted run: finished measurements are not repeated. More models, cases, seeds or
    metrics can be added to it. Another dataset, or options that change numbers, need another folder, or --new.

    Metrics that need a judge call the one named by --judge-model or LOOKAWAY_JUDGE_MODEL; without one they abstain.
    Every reply is stored.

    For CI, --require-coverage 0.9 fails where a metric of a model has scores for less than nine tenths of its rollouts;
    rollouts that are known not to have tested memory count as measured.

    With --log, each model is a run of the tracker. TensorBoard's files are in the folder `tensorboard` of the
    current directory; Trackio and wandb store or upload theirs as configured.

    With --shard, several machines each measure one part of the dataset into a folder of their own; `lookaway merge`
    combines the runs.
    """
    is_told = not (quiet or no_progress or as_json)
    tell(f"reading {options['dataset']}, measuring into {output}", enabled=is_told)
    from lookaway.calibration.run_cards import record_cards
    from lookaway.engine.evaluate import evaluate
    from lookaway.reports.experiment_logs import log_run, require_trackers
    from lookaway.reports.progress import progress_bar
    from lookaway.reports.table import print_table

    trackers = options.pop("trackers") or ()
    require_trackers(trackers)
    judge, reading = chosen_judge(options), chosen_reading(options)
    metrics, changes, resources = options.pop("metrics"), chosen_changes(options), chosen_resources(options)
    protocol = options.pop("protocol")
    with progress_bar(enabled=is_told) as on_progress:
        run = evaluate(
            options.pop("dataset"),
            output,
            metrics=metrics,
            protocol=protocol,
            judge=judge,
            ignore_triggers=options.pop("ignore_trigger"),
            on_progress=on_progress,
            on_note=None if quiet else print_note,
            **changes,
            **resources,
            **reading,
            **options,
        )
    record_cards(run)
    table = run.table()
    if not quiet:
        print_table(run, table, as_json=as_json, layout=layout)
    log_run(run, trackers)
    return _exit_code(run, table, require_coverage, with_steps=quiet or as_json)


def _exit_code(run: Run, table: Table, required: float | None, *, with_steps: bool) -> int:
    is_covered = required is None or _is_covered(run, table, required, with_steps=with_steps)
    if any(cell.failures for cell in table.cells):
        return EXIT_WITH_FAILURES
    return 0 if is_covered else EXIT_TOO_FEW_SCORES


def _is_covered(run: Run, table: Table, required: float, *, with_steps: bool) -> bool:
    """Whether enough values have scores; where not, tells which have too few and, unless a table did, what to do."""
    from lookaway.reports.missing_values import coverage_shortfalls, missing_values
    from lookaway.reports.numbers import visible

    short = coverage_shortfalls(table.cells, required)
    if short:
        steps = [one.line for one in missing_values(run, table.cells)] if with_steps else []
        lines = [f"error: too few scores, --require-coverage {required:g}:", *short, *steps]
        rest = "Or leave metrics out with --metrics, models with --models; or require less."
        click.echo("\n".join(visible(line) for line in (*lines, rest)), err=True)
    return not short
