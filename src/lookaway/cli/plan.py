"""`lookaway plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.judge_options import chosen_judge, judge_options
from lookaway.cli.options import PLACE, dataset_options, json_option, read_dataset
from lookaway.cli.shard_option import shard_option
from lookaway.cli.suite_options import DatasetCommand

if TYPE_CHECKING:
    from lookaway.engine.shard import Shard


@click.command("plan", cls=DatasetCommand)
@dataset_options
@click.option("-o", "--output", type=PLACE, help="Run folder; what it holds already is not planned.")
@judge_options
@click.option("--features", type=PLACE, help="Folder of features that runs share; what it holds is not planned.")
@shard_option
@click.option("--workers", type=click.IntRange(min=1), help="Workers of the run; by default one, without Ray.")
@json_option
def plan_command(output: Path | None, shard: Shard | None, workers: int | None, as_json: bool, **options: Any) -> None:
    """Say what `eval` would run on DATASET, how long it takes, how much disk it needs and what a judge is asked.

    Every run notes what its stages took on this kind of machine; what was never measured takes what its extractor
    declares. Nobody is asked anything. Questions whose replies are kept count as well: only frames would tell which.
    """
    from lookaway.engine.binding import Overrides
    from lookaway.engine.costs import estimate_cost, read_machine_costs
    from lookaway.engine.coverage import coverage
    from lookaway.engine.judging import planned_judge, without_gates
    from lookaway.engine.plan import make_plan
    from lookaway.reports.plan import print_plan
    from lookaway.store.run_folder import RunFolder

    judge, features = chosen_judge(options), options.pop("features")
    dataset, metrics = read_dataset(options)
    if judge is None:
        metrics = without_gates(metrics)
    else:
        metrics = Overrides(judge=planned_judge(judge, output)).apply(metrics)
    plan = make_plan(dataset, metrics, shard)
    folder = RunFolder(output) if output else None
    kept = features or (folder.features if folder else None)
    cost = estimate_cost(plan.work(folder), metrics, kept, measured=read_machine_costs(), judge=judge)
    print_plan(plan, coverage(plan.dataset, metrics), cost, workers=workers, as_json=as_json)
