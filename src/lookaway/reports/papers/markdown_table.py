"""Tables for a paper in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from lookaway.reports.markdown import markdown_lines, verbatim
from lookaway.reports.numbers import estimate_interval, fixed
from lookaway.reports.papers.paper_table import EXPLAINED, PaperCell, PaperColumn, PaperTable

ARROWS = {True: " ↑", False: " ↓", None: ""}
LONGEST_NOTE = 2_000


def markdown_tables(tables: Sequence[PaperTable], origin: str) -> str:
    """One table for each subset; text of datasets is taken neither for markup nor for a column."""
    parts = []
    for table in tables:
        titles = [f"{verbatim(column.title)}{ARROWS[column.higher_is_better]}" for column in table.columns]
        names = [*map(verbatim, table.models), *(f"{verbatim(model)} (baseline)" for model in table.baselines)]
        rows = [
            [name, *(_cell(column, column.cells[number]) for column in table.columns)]
            for number, name in enumerate(names)
        ]
        parts += [f"## {verbatim(table.subset)}", markdown_lines(["model", *titles], rows, [False] * (1 + len(titles)))]
    notes = dict.fromkeys(verbatim(note, LONGEST_NOTE) for table in tables for note in table.notes)
    parts += ["\n".join(f"- {line}" for line in (*notes, *EXPLAINED)), verbatim(origin)]
    return "\n\n".join(parts) + "\n"


def _cell(column: PaperColumn, cell: PaperCell) -> str:
    if cell.estimate is None:
        return "-"
    mean = fixed(cell.estimate.mean, column.digits)
    shown = f"**{mean}**" if cell.is_best else mean if cell.precision.is_estimable else ""
    interval = estimate_interval(cell.estimate, column.digits)
    return " ".join(part for part in (shown, cell.precision.mark.value, interval, f"n={cell.estimate.scored}") if part)
