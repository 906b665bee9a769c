"""`lookaway compare`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import FOLDER_OR_URL, split_names

EXIT_CONDITION = 3


@click.command("compare")
@click.argument("before", type=FOLDER_OR_URL)
@click.argument("after", type=FOLDER_OR_URL, required=False)
@click.option(
    "--models",
    callback=split_names,
    metavar="A,B",
    help="Compare model A of BEFORE with model B of AFTER; by default models of the same name.",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 3 if a difference meets this, such as 'entity < -0.02' or 'entity.low < -0.02'; can be repeated.",
)
@click.option("--across-locks", is_flag=True, help="Compare metrics even if their locks differ.")
@click.option(
    "--worst", type=click.IntRange(min=0), default=10, show_default=True, help="Number of most worsened clips to list."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Output format: for a terminal, a pull request comment, or programs.",
)
def compare_command(  # noqa: PLR0913 - one for each option
    before: Path,
    after: Path | None,
    models: tuple[str, ...] | None,
    conditions: tuple[str, ...],
    across_locks: bool,
    worst: int,
    form: str,
) -> int:
    """Compare the runs BEFORE and AFTER, or two models of one run, on the same clips.

    Clips are paired by case, and by seed where both have it. A positive difference is an improvement, whether
    higher or lower values are better. A difference counts as better or worse only if its q-value, corrected for all
    tests of the table, is at most 0.05.

    A condition names a metric by its full name or the last part of it, or a group of metrics by any other part or by
    a subset; it then applies to each metric of the group. It tests the mean difference, or with .low and .high an end
    of its 95 % interval. A condition that cannot be evaluated fails.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.compare.comparison import compare_runs
    from lookaway.reports.compare.fail_conditions import check_conditions, parse_condition
    from lookaway.reports.compare.text import comparison_markdown, print_comparison, print_comparison_json

    wanted = [parse_condition(text) for text in conditions]
    comparison = compare_runs(Run(before), Run(after or before), models, across_locks=across_locks, worst=worst)
    checks = check_conditions(wanted, comparison)
    if form == "markdown":
        click.echo(comparison_markdown(comparison, checks), nl=False)
    else:
        (print_comparison if form == "text" else print_comparison_json)(comparison, checks)
    return EXIT_CONDITION if any(check.failed for check in checks) else 0
