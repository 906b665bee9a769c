"""`lookaway export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import PLACE


@click.group("export")
def export_command() -> None:
    """Write a run in the format of another tool."""


@export_command.command("mbench")
@click.argument("run", type=PLACE)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write.")
def mbench_command(run: Path, output: Path) -> None:
    """Write RUN in the output layout of MBench: items.jsonl and metrics/<name>/{units,items}.jsonl, summary.json."""
    from lookaway.engine.run import Run
    from lookaway.reports.export.mbench import export_mbench

    export_mbench(Run(run), output)
    click.echo(f"Wrote {output}")


@export_command.command("mbench-leaderboard")
@click.argument("run", type=PLACE)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="ZIP to write.")
@click.option("--model", required=True, help="Model of the run to submit.")
@click.option("--model-link", default="", help="Address of a page about it.")
@click.option("--model-type", help="By default action-conditioned or text-conditioned, as the setting is.")
@click.option(
    "--min-share",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    help="Share of rollouts that every metric has to account for.",
)
@click.option("--force", is_flag=True, help="Write it though something is missing; the submission says what.")
def leaderboard_command(run: Path, output: Path, model: str, **options: Any) -> None:
    """Write RUN as a submission to MBench's leaderboard: a ZIP with leaderboard_submission.json.

    Refuses where a metric is missing, no judge said which rollouts count (setting T), or too few rollouts are known.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.mbench_leaderboard import Entry, write_submission
    from lookaway.reports.numbers import print_lines

    entry = Entry(model=model, link=options.pop("model_link"), kind=options.pop("model_type"))
    lacks = write_submission(Run(run), entry, output, **options)
    print_lines([*(f"lacks {lack}" for lack in lacks), f"Wrote {output}"])


@export_command.command("mind-result")
@click.argument("run", type=PLACE)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="Folder to write.")
def mind_result_command(run: Path, output: Path) -> None:
    """Write RUN in the output layout of MIND: <model>/Result.json, and the JSON schema that it follows.

    Where nothing was measured a key is left out, and `error` says why.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.mind_result import export_mind_result

    for path in export_mind_result(Run(run), output):
        click.echo(f"Wrote {path}")


@export_command.command("outcomes")
@click.argument("run", type=PLACE)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="File to write: .csv or .parquet.")
@click.option("--units", is_flag=True, help="One row per frame pair, track, segment or phase.")
def outcomes_command(run: Path, output: Path, units: bool) -> None:
    """Write every outcome of RUN as a row: one per rollout and metric.

    In CSV, text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.rows import write_tidy_table

    write_tidy_table(Run(run), output, units=units)
    click.echo(f"Wrote {output}")


@export_command.command("table")
@click.argument("run", type=PLACE)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write: .tex, .md, .csv or .parquet.",
)
def table_command(run: Path, output: Path) -> None:
    """Write the estimates of RUN: means with 95 % intervals, n, daggers, and which models can be told apart.

    LaTeX, which needs booktabs, and Markdown have one table for each subset; bold is what is told apart from every
    other model. CSV and Parquet have one row for each model, metric and subset, unrounded, with ranges of ranks.
    Baselines stand below and have no rank. What is not estimable has an interval alone.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.paper_table import write_estimates

    write_estimates(Run(run), output)
    click.echo(f"Wrote {output}")
