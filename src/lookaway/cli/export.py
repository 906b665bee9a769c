"""`lookaway export`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, SHARE, control_option


@click.group("export")
def export_command() -> None:
    """Write a run in the format of another tool."""


@export_command.command("mbench")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def mbench_command(run: Path, output: Path) -> None:
    """Write RUN in the output layout of MBench: items.jsonl and metrics/<name>/{units,items}.jsonl, summary.json."""
    from lookaway.engine.run import Run
    from lookaway.reports.export.mbench import export_mbench

    export_mbench(Run(run), output)
    click.echo(f"Wrote {output}")


@export_command.command("mbench-leaderboard")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="ZIP to write.")
@click.option("--model", required=True, help="Model of the run to submit.")
@click.option("--model-link", default="", help="URL of a page about the model.")
@click.option("--model-type", help="By default action-conditioned or text-conditioned, depending on the setting.")
@click.option(
    "--min-share",
    type=SHARE,
    default=0.9,
    show_default=True,
    help="Minimum share of rollouts with a known outcome, per metric.",
)
@click.option("--force", is_flag=True, help="Write it even if something is missing; the submission lists what.")
def leaderboard_command(run: Path, output: Path, model: str, **options: Any) -> None:
    """Write RUN as a submission to MBench's leaderboard: a ZIP with leaderboard_submission.json.

    Fails if a metric is missing, if no judge decided which rollouts are triggered (setting T), or if too few rollouts
    have a known outcome.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.mbench_leaderboard import Entry, write_submission
    from lookaway.reports.numbers import print_lines

    entry = Entry(model=model, link=options.pop("model_link"), kind=options.pop("model_type"))
    lacks = write_submission(Run(run), entry, output, **options)
    print_lines([*(f"lacks {lack}" for lack in lacks), f"Wrote {output}"])


@export_command.command("mind-result")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def mind_result_command(run: Path, output: Path) -> None:
    """Write RUN in the output layout of MIND: <model>/Result.json, and its JSON schema.

    Keys that were not measured are left out, and `error` says why.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.mind_result import export_mind_result

    for path in export_mind_result(Run(run), output):
        click.echo(f"Wrote {path}")


@export_command.command("sana-results")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def sana_results_command(run: Path, output: Path) -> None:
    """Write RUN as the result files of SANA-WM-Bench, which its own aggregator reads.

    <model>/eval/<split>/ gets revisit_consistency.json, camera_accuracy.json, temporal_degradation.json,
    vbench_scores.json and summary.json; <model>/<split>/ gets eval_poses.json. What was not measured is left out.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.sana_results import export_sana_results

    for path in export_sana_results(Run(run), output):
        click.echo(f"Wrote {path}")


@export_command.command("memobench")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def memobench_command(run: Path, output: Path) -> None:
    """Write the published values of RUN as the table of MemoBench's evaluator: outputs/<model>/eval_both.csv.

    They are measured with `lookaway eval DATASET -o RUN --protocol published`; a run without them, or with some that
    were measured in another way, is refused. Columns that were not measured are empty, and a column `error` says why.
    Reappearance scores are in ors_results/<model>/ors_scores.csv, answers to question banks in vqa_results/<model>.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.memobench import export_memobench_table
    from lookaway.reports.export.memobench_vqa import export_memobench_answers

    for path in (*export_memobench_table(Run(run), output), *export_memobench_answers(Run(run), output)):
        click.echo(f"Wrote {path}")


@export_command.command("memobench-leaderboard")
@click.argument("runs", type=FOLDER_OR_URL, nargs=-1, required=True, metavar="RUN...")
@click.option("-o", "--output", type=PATH, required=True, help="CSV file to write.")
def memobench_leaderboard_command(runs: tuple[Path, ...], output: Path) -> None:
    """Write the published values of RUNs as the table of MemoBench's leaderboard: one line for each model.

    Means are over all clips of both parts, without a gate, as in the published table. Columns that were not
    measured are empty.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.memobench import export_memobench_leaderboard

    export_memobench_leaderboard([Run(run) for run in runs], output)
    click.echo(f"Wrote {output}")


@export_command.command("outcomes")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="File to write: .csv or .parquet.")
@click.option("--units", is_flag=True, help="One row per frame pair, track, segment or phase.")
def outcomes_command(run: Path, output: Path, units: bool) -> None:
    """Write every outcome of RUN as a row: one per rollout and metric.

    In CSV, text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.rows import write_tidy_table

    write_tidy_table(Run(run), output, units=units)
    click.echo(f"Wrote {output}")


@export_command.command("table")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("-o", "--output", type=PATH, required=True, help="File to write: .tex, .md, .csv or .parquet.")
@control_option
def table_command(run: Path, output: Path, controls: tuple[str, ...]) -> None:
    """Write the estimates of RUN: means with 95 % intervals, n, daggers, and which differences are significant.

    LaTeX, which needs booktabs, and Markdown have one table per subset; bold marks a model that differs significantly
    from every other. CSV and Parquet have one row per model, metric and subset, unrounded, with rank ranges. Controls
    come last and have no rank. A mean over fewer than 10 rollouts is not estimable: it has a double dagger and no rank.
    Consistency is measured over rollouts that tested memory, and their share is given; a model without any is shown as
    not tested.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.export.paper_table import write_estimates

    write_estimates(Run(run), output, controls)
    click.echo(f"Wrote {output}")
