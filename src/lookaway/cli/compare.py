"""`lookaway compare`."""

from __future__ import annotations

from pathlib import Path

import click

from lookaway.cli.options import PLACE, split_names

EXIT_CONDITION = 3


@click.command("compare")
@click.argument("before", type=PLACE)
@click.argument("after", type=PLACE, required=False)
@click.option(
    "--models",
    callback=split_names,
    metavar="A,B",
    help="Compare model A of BEFORE with model B of AFTER; by default each with that of its name.",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 3 where a difference is so, such as 'entity < -0.02' or 'entity.low < -0.02'; can be repeated.",
)
@click.option("--across-locks", is_flag=True, help="Compare metrics even where they were measured in different ways.")
@click.option(
    "--worst", type=click.IntRange(min=0), default=10, show_default=True, help="How many clips that got worse to list."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="For a terminal, for the comment of a pull request, or for programs.",
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

    Clips are paired by case, and by seed where both have it. A difference above zero is better, whichever way the
    metric goes; better and worse are said only where q, which knows of all tests of the table, is at most 0.05.

    A condition names a metric by its whole name or the last part, or a group by any other part or by a subset, and
    holds for each metric of a group. It is about the mean difference, or with .low and .high about an end of its 95 %
    interval. What it names and cannot be decided fails as well.
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
