"""`lookaway eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.executor_options import chosen_resources, executor_options
from lookaway.cli.judge_options import chosen_judge, judge_options
from lookaway.cli.options import PLACE, chosen_changes, chosen_reading, dataset_options, json_option
from lookaway.cli.shard_option import shard_option
from lookaway.cli.suite_options import DatasetCommand

EXIT_WITH_FAILURES = 3


@click.command("eval", cls=DatasetCommand)
@dataset_options
@click.option("-o", "--output", type=PLACE, required=True, help="Run folder to write or go on with.")
@judge_options
@click.option("--ignore-trigger", is_flag=True, help="Let no gate say which rollouts count; for ablations.")
@executor_options
@click.option("--features", type=PLACE, help="Folder of features to share between runs.")
@shard_option
@click.option("--smoke", is_flag=True, help="Try every metric on one rollout before the rest is begun.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--no-progress", is_flag=True, help="No progress bar; the table is still printed.")
@json_option
def eval_command(output: Path, quiet: bool, no_progress: bool, as_json: bool, **options: Any) -> int:
    """Measure every rollout of DATASET and print the table.

    A run that was cut off goes on with the same command: what is finished is not measured again.

    Metrics that need what a judge says ask the one that --judge-model or LOOKAWAY_JUDGE_MODEL names; without one they
    abstain. Every reply is kept.

    With --shard, several machines measure one part of the dataset each, into a folder each; `lookaway merge` puts them
    together.
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
            **changes,
            **resources,
            **reading,
            **options,
        )
    table = run.table()
    if not quiet:
        print_table(run, table, as_json=as_json)
    return EXIT_WITH_FAILURES if any(cell.failures for cell in table.cells) else 0
