"""`lookaway plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, dataset_options, json_option, read_dataset
from lookaway.cli.run_options import chosen_judge, judge_options, prompts_option, shard_option
from lookaway.cli.suite_options import DatasetCommand

if TYPE_CHECKING:
    from lookaway.engine.shard import Shard


@click.command("plan", cls=DatasetCommand)
@dataset_options
@click.option("-o", "--output", type=FOLDER_OR_URL, help="Run folder; finished measurements in it are not planned.")
@judge_options
@prompts_option
@click.option("--features", type=FOLDER_OR_URL, help="Folder of shared features; those in it are not planned.")
@shard_option
@click.option("--workers", type=COUNT, help="Number of workers; by default one, without Ray.")
@json_option
def plan_command(output: Path | None, shard: Shard | None, workers: int | None, as_json: bool, **options: Any) -> None:
    """Estimate what `eval` would run on DATASET: time, disk space and judge calls.

    Estimates use the times of earlier runs on this kind of machine, else what each extractor declares. No judge calls
    are made. Questions with stored replies count as calls, since only the frames would show which they are.
    """
    from lookaway.engine.costs import estimate_cost, read_machine_costs
    from lookaway.engine.coverage import coverage
    from lookaway.engine.judging import with_planned_judge, without_judged_gates
    from lookaway.engine.plan import make_plan
    from lookaway.reports.plan import print_plan
    from lookaway.store.run_folder import RunFolder

    judge, features = chosen_judge(options), options.pop("features")
    dataset, metrics = read_dataset(options)
    if judge is None:
        metrics = without_judged_gates(metrics)
    else:
        metrics = with_planned_judge(metrics, judge, output)
    plan = make_plan(dataset, metrics, shard)
    folder = RunFolder(output) if output else None
    kept = features or (folder.features if folder else None)
    cost = estimate_cost(plan.work(folder), metrics, kept, measured=read_machine_costs(), judge=judge)
    print_plan(plan, coverage(plan.dataset, metrics), cost, workers=workers, as_json=as_json)
