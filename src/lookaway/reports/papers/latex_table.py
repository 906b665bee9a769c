"""Tables for a paper in LaTeX, with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lookaway.reports.numbers import estimate_interval, fixed
from lookaway.reports.papers.paper_table import EXPLAINED, PaperCell, PaperColumn, PaperTable
from lookaway.reports.text import visible
from lookaway.statistics.precision import Mark

SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": "{-}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
ARROWS = {True: r" $\uparrow$", False: r" $\downarrow$", None: ""}
MARKS = {Mark.NONE: "", Mark.IMPRECISE: r"^{\dagger}", Mark.NOT_ESTIMABLE: r"^{\ddagger}"}
NOTE_SIGNS = {"†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "%": r"\%"}


def latex_tables(tables: Sequence[PaperTable], origin: str) -> str:
    """One table for each subset; every model has a line of means and below it one of intervals."""
    head = ["% \\usepackage{booktabs,textcomp}", f"% {latex_text(origin)}"]
    return "\n\n".join(["\n".join(head), *(_table(table) for table in tables)]) + "\n"


def latex_text(text: object) -> str:
    r"""Text of datasets as text, in one line, whatever signs it holds.

    >>> print(latex_text("50% of a_b \\input{x}"))
    50\% of a\_b \textbackslash{}input\{x\}
    """
    return "".join(SIGNS.get(sign, sign) for sign in visible(text))


def _table(table: PaperTable) -> str:
    note = "; ".join(EXPLAINED)
    for sign, command in NOTE_SIGNS.items():
        note = note.replace(sign, command)
    said = "".join(f"{latex_text(entry)} " for entry in table.notes)
    titles = [f"{latex_text(column.title)}{ARROWS[column.higher_is_better]}" for column in table.columns]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(table.subset)}. {said}{note}.}}",
        rf"\label{{tab:{_label(table.subset)}}}",
        rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
        r"\toprule",
        _line("model", *titles),
        r"\midrule",
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _body(table: PaperTable) -> list[str]:
    competing = [line for number, model in enumerate(table.models) for line in _lines(table, number, model)]
    others = [
        line
        for number, model in enumerate(table.baselines, start=len(table.models))
        for line in _lines(table, number, model, " (baseline)")
    ]
    return [*competing, *([r"\midrule"] if competing and others else []), *others]


def _lines(table: PaperTable, number: int, model: str, role: str = "") -> list[str]:
    # In braces, for a row that begins with [ or * would be taken for an argument of the line before it.
    means = [_mean(column, column.cells[number]) for column in table.columns]
    intervals = [_interval(column, column.cells[number]) for column in table.columns]
    return [_line(f"{{{latex_text(model)}}}{role}", *means), _line("", *intervals)]


def _line(*cells: str) -> str:
    return f"{' & '.join(cells)} \\\\"


def _mean(column: PaperColumn, cell: PaperCell) -> str:
    mark = MARKS[cell.precision.mark]
    if cell.estimate is None:
        return "--"
    if not cell.precision.is_estimable:
        return f"${mark}$"
    mean = fixed(cell.estimate.mean, column.digits)
    shown = rf"\mathbf{{{mean}}}" if cell.is_best else mean
    return f"${shown}{mark}$"


def _interval(column: PaperColumn, cell: PaperCell) -> str:
    if cell.estimate is None:
        return ""
    interval = estimate_interval(cell.estimate, column.digits)
    shown = f"${interval}$, " if cell.estimate.low is not None else ""
    return rf"{{\scriptsize {shown}{cell.estimate.scored}}}"


def _label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "results"
