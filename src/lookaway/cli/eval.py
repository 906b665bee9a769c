"""`lookaway eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import (
    FOLDER_OR_URL,
    chosen_changes,
    chosen_reading,
    dataset_options,
    json_option,
    new_option,
    print_note,
)
from lookaway.cli.run_options import chosen_judge, chosen_resources, executor_options, judge_options, shard_option
from lookaway.cli.suite_options import DatasetCommand

EXIT_WITH_FAILURES = 3


@click.command("eval", cls=DatasetCommand)
@dataset_options
@click.option("-o", "--output", type=FOLDER_OR_URL, required=True, help="Run folder to write or resume.")
@judge_options
@click.option("--ignore-trigger", is_flag=True, help="Ignore gates and count every rollout; for ablations.")
@executor_options
@click.option("--features", type=FOLDER_OR_URL, help="Folder of features shared between runs.")
@shard_option
@click.option("--smoke", is_flag=True, help="Try every metric on one rollout first.")
@new_option
@click.option("--quiet", is_flag=True, help="Print only errors.")
@click.option("--no-progress", is_flag=True, help="No progress bar; the table is still printed.")
@json_option
def eval_command(output: Path, quiet: bool, no_progress: bool, as_json: bool, **options: Any) -> int:
    """Measure every rollout of DATASET and print the table.

    The same command resumes an interrupted run: finished measurements are not repeated. More models, cases, seeds or
    metrics are added to it. Another dataset, or options that change numbers, need another folder, or --new.

    Metrics that need a judge call the one named by --judge-model or LOOKAWAY_JUDGE_MODEL; without one they abstain.
    Every reply is stored.

    With --shard, several machines measure one part of the dataset each, into a folder each; `lookaway merge` combines
    them.
    """
    from lookaway.engine.evaluate import evaluate
    from lookaway.reports.progress import progress_bar
    from lookaway.reports.table import print_table

    judge, reading = chosen_judge(options), chosen_reading(options)
    metrics, changes, resources = options.pop("metrics"), chosen_changes(options), chosen_resources(options)
    with progress_bar(enabled=not (quiet or no_progress or as_json)) as on_progress:
        run = evaluate(
            options.pop("dataset"),
            output,
            metrics=metrics,
            judge=judge,
            ignore_gates=options.pop("ignore_trigger"),
            on_progress=on_progress,
            on_note=None if quiet else print_note,
            **changes,
            **resources,
            **reading,
            **options,
        )
    table = run.table()
    if not quiet:
        print_table(run, table, as_json=as_json)
    return EXIT_WITH_FAILURES if any(cell.failures for cell in table.cells) else 0
