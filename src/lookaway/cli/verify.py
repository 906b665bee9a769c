"""`lookaway verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import PLACE, json_option

EXIT_DIFFERS = 3


@click.command("verify")
@click.argument("run", type=PLACE)
@click.argument("published", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.005,
    show_default=True,
    help="Largest difference that agrees; of raw values, as a share of the published one.",
)
@click.option(
    "--scale",
    type=click.Choice(["auto", "1", "100"]),
    default="auto",
    show_default=True,
    help="Best published score; by default 100 where any is above 1.",
)
@click.option(
    "--lock", type=click.Path(path_type=Path), help="The lock.json that the published numbers were made with."
)
@json_option
def verify_command(run: Path, published: Path, lock: Path | None, as_json: bool, **options: Any) -> int:
    """Hold the table of RUN against PUBLISHED, a CSV file, and say what could explain a difference.

    Columns of the file: model, metric (its whole name or the last part), and any of score, m_score, s_rel (the score
    where a gate decided) and c_trig; optional: subset, raw, n. Others are ignored, and told.

    A number that differs, but lies inside our interval, is told and does not count as a difference. Exits with 3 where
    a number differs or is missing here.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.lock_explanations import read_lock
    from lookaway.reports.published_table import read_published
    from lookaway.reports.verification import compare, is_reproduced, print_verdicts

    shown = Run(run)
    theirs = read_lock(lock) if lock else None
    table, there = shown.table(), read_published(published, options["scale"])
    comparisons = compare(table.cells, there.cells, options["tolerance"])
    print_verdicts(
        shown, comparisons, theirs, notes=table.notes, ignored_columns=there.ignored_columns, as_json=as_json
    )
    return 0 if is_reproduced(comparisons) else EXIT_DIFFERS
