"""`lookaway verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import FOLDER_OR_URL, PATH, json_option

EXIT_DIFFERS = 3


@click.command("verify")
@click.argument("run", type=FOLDER_OR_URL)
@click.argument("published", type=PATH)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0),
    default=0.005,
    show_default=True,
    help="Largest accepted difference; for raw values, as a fraction of the published one.",
)
@click.option(
    "--scale",
    type=click.Choice(["auto", "1", "100"]),
    default="auto",
    show_default=True,
    help="Maximum of the published scores; by default 100 if any is above 1.",
)
@click.option("--lock", type=PATH, help="The lock.json of the published numbers.")
@json_option
def verify_command(run: Path, published: Path, lock: Path | None, as_json: bool, **options: Any) -> int:
    """Compare RUN with PUBLISHED, a CSV file of published numbers, and suggest what explains a difference.

    Columns of the file: model, metric (its full name or the last part of it), and any of score, m_score, s_rel (the
    score over triggered rollouts) and c_trig; optional: subset, raw, n. Other columns are ignored and listed.

    Means are as published: over all rollouts, except where a judge's trigger belongs to the published protocol. A note
    says how many of these rollouts did not test memory.

    A number that differs but lies within the interval of RUN is listed and does not count as a difference. With --lock,
    neither does one that differs by no more than the instruction sets and BLAS kernels of the two machines may move its
    metric. A metric that was not measured as published, as with --use, is not held against a published number, and the
    command that measures it is named. Exits with 3 if a number differs, is missing from RUN or is not as published.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.as_published import not_as_published
    from lookaway.reports.lock_explanations import environment_tolerances, mixed_code, other_code, read_lock
    from lookaway.reports.published_table import read_published
    from lookaway.reports.verification import compare, is_reproduced, print_verdicts

    shown = Run(run)
    theirs = read_lock(lock) if lock else None
    table, there = shown.table(), read_published(published, options["scale"])
    environments = environment_tolerances(shown.lock, theirs) if theirs else {}
    departures = not_as_published(shown)
    comparisons = compare(table.cells, there.cells, options["tolerance"], environments, departures)
    notes = [*table.notes, *mixed_code(shown.lock, str(run))]
    if theirs:
        measured = [entry.name for entry in shown.metrics]
        notes += other_code(shown.lock, theirs, measured, (str(run), str(lock)))
    print_verdicts(shown, comparisons, theirs, notes=notes, ignored_columns=there.ignored_columns, as_json=as_json)
    return 0 if is_reproduced(comparisons) else EXIT_DIFFERS
