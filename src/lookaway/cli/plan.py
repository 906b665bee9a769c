"""`lookaway plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.judge_options import chosen_judge, judge_options
from lookaway.cli.options import dataset_options, json_option, read_dataset


@click.command("plan")
@dataset_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Run folder; what it holds already is not planned."
)
@judge_options
@json_option
def plan_command(output: Path | None, as_json: bool, **options: Any) -> None:
    """Say what `eval` would run on DATASET, how long it takes, how much disk it needs and what a judge is asked.

    Nobody is asked anything.
    """
    from lookaway.engine.changes import Changes
    from lookaway.engine.costs import estimate_cost
    from lookaway.engine.coverage import coverage
    from lookaway.engine.judging import planned_judge, without_gates
    from lookaway.engine.plan import make_plan
    from lookaway.reports.plan import print_plan
    from lookaway.store.run_folder import RunFolder

    judge = chosen_judge(options)
    dataset, metrics = read_dataset(options)
    if judge is None:
        metrics = without_gates(metrics)
    else:
        metrics = Changes(judge=planned_judge(judge, output)).apply(metrics)
    plan = make_plan(dataset, metrics)
    folder = RunFolder(output) if output else None
    cost = estimate_cost(plan.work(folder), metrics, folder.features if folder else None)
    print_plan(plan, coverage(dataset, metrics), cost, as_json=as_json)
