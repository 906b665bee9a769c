"""The estimates of a run as tables for a paper: one for each subset, models by metrics, with marks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import TRIGGERED, Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.export.rows import SCHEMA, estimate_rows, write_file, write_row_file
from lookaway.reports.export.rows import WRITERS as ROW_WRITERS
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow, leaderboards
from lookaway.reports.numbers import (
    digits_for,
    estimate_interval,
    fixed,
    markdown_lines,
    scene_values,
    verbatim,
    visible,
)
from lookaway.reports.runs import LoadedRun, load_run, with_controls
from lookaway.reports.scene_notes import WEIGHTING
from lookaway.statistics.precision import Mark, Precision, precision
from lookaway.statistics.scene_bootstrap import MIN_SCENES

EXPLAINED = (
    f"{WEIGHTING}, and n; below {MIN_SCENES} scenes, the mean of each scene instead of an interval",
    "† imprecise: half the interval is more than a tenth of the metric's range, or the effective n is below 30",
    "‡ not estimable: n is below 10; not ranked",
    "bold: significantly better than every other estimable model, jointly; controls are not ranked",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCell:
    """A number with its mark."""

    estimate: Estimate | None
    precision: Precision
    is_best: bool = False
    """Whether it is significantly better than every other ranked model."""
    is_untested: bool = False
    """Whether no rollout tested memory."""
    untested: int = 0
    """Rollouts in the mean that are not known to have tested memory."""


NO_CELL = PaperCell(estimate=None, precision=precision(None, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperColumn:
    """One metric, or its coverage or M-Score."""

    title: str
    higher_is_better: bool | None
    digits: int
    cells: tuple[PaperCell, ...]
    """One for each model, then one for each control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """All metrics of one subset."""

    subset: str
    models: tuple[str, ...]
    controls: tuple[str, ...]
    """Models that are not ranked; they come after the others."""
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...]
    """The notes of the suite's table."""


def paper_tables(run: LoadedRun) -> list[PaperTable]:
    """One table per subset, in the order of the run's table."""
    subsets: dict[str, list[Leaderboard]] = {}
    for leaderboard in leaderboards([run]):
        subsets.setdefault(leaderboard.subset, []).append(leaderboard)
    return [_table(run, subset, own) for subset, own in subsets.items()]


def _table(run: LoadedRun, subset: str, own: Sequence[Leaderboard]) -> PaperTable:
    is_control = {row.model: row.control is not None for leaderboard in own for row in leaderboard.rows}
    order = dict.fromkeys(cell.model for cell in run.table.cells if cell.model in is_control)
    models = tuple(model for model in order if not is_control[model])
    controls = tuple(model for model in order if is_control[model])
    short = Counter(leaderboard.short for leaderboard in own)
    columns = []
    for leaderboard in own:
        title = leaderboard.short if short[leaderboard.short] == 1 else leaderboard.metric.name
        columns += _metric_columns(leaderboard, (*models, *controls), title)
    return PaperTable(
        subset=subset, models=models, controls=controls, columns=tuple(columns), notes=tuple(run.table.notes)
    )


def _metric_columns(leaderboard: Leaderboard, models: Sequence[str], title: str) -> list[PaperColumn]:
    rows = {row.model: row for row in leaderboard.rows}
    has_rivals = sum(row.ranks is not None for row in leaderboard.rows) > 1
    cells = {
        model: PaperCell(
            estimate=row.cell.estimate,
            precision=row.precision,
            is_best=has_rivals and _is_first(row),
            is_untested=row.cell.is_untested,
            untested=row.cell.untested,
        )
        for model, row in rows.items()
    }
    columns = [_column(title, leaderboard.metric.higher_is_better, models, cells)]
    if label := leaderboard.gate_label:
        columns += _gate_columns(rows, models, title, label)
    return columns


def _is_first(row: LeaderboardRow) -> bool:
    return row.ranks is not None and row.ranks.worst == 1


def _gate_columns(
    rows: Mapping[str, LeaderboardRow], models: Sequence[str], title: str, label: str
) -> list[PaperColumn]:
    """The coverage of the gate, and for a trigger the M-Score."""
    coverages, combined = {}, {}
    for model, row in rows.items():
        if row.cell.gated:
            coverages[model] = PaperCell(estimate=row.cell.gated.coverage, precision=row.coverage)
            combined[model] = PaperCell(estimate=row.cell.gated.combined, precision=row.combined)
    columns = [_column(f"{title}: {label}", True, models, coverages)]
    return [*columns, _column(f"{title}: M-Score", True, models, combined)] if label == TRIGGERED else columns


def _column(title: str, higher: bool | None, models: Sequence[str], cells: Mapping[str, PaperCell]) -> PaperColumn:
    means = [cell.estimate.mean for cell in cells.values() if cell.estimate]
    own = tuple(cells.get(model, NO_CELL) for model in models)
    return PaperColumn(title=title, higher_is_better=higher, digits=digits_for(means), cells=own)


MARKDOWN_ARROWS = {True: " ↑", False: " ↓", None: ""}
LONGEST_NOTE = 2_000
NOT_TESTED = "not tested"


def markdown_tables(tables: Sequence[PaperTable], origin: str) -> str:
    """One table for each subset; text of datasets is escaped."""
    parts = []
    for table in tables:
        titles = [f"{verbatim(column.title)}{MARKDOWN_ARROWS[column.higher_is_better]}" for column in table.columns]
        names = [*map(verbatim, table.models), *(f"{verbatim(model)} (control)" for model in table.controls)]
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
        return NOT_TESTED if cell.is_untested else "-"
    mean = fixed(cell.estimate.mean, column.digits)
    shown = f"**{mean}**" if cell.is_best else mean
    interval = estimate_interval(cell.estimate, column.digits)
    support = f"n={cell.estimate.scored}" + _includes(cell)
    return " ".join(part for part in (shown, cell.precision.mark.value, interval, support) if part)


def _includes(cell: PaperCell) -> str:
    return f", includes {cell.untested} untested" if cell.untested else ""


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
LATEX_ARROWS = {True: r" $\uparrow$", False: r" $\downarrow$", None: ""}
MARKS = {Mark.NONE: "", Mark.IMPRECISE: r"^{\dagger}", Mark.NOT_ESTIMABLE: r"^{\ddagger}"}
NOTE_SIGNS = {"†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "%": r"\%"}


def latex_tables(tables: Sequence[PaperTable], origin: str) -> str:
    """One table for each subset; every model has a line of means and below it one of intervals."""
    head = ["% \\usepackage{booktabs,textcomp}", f"% {latex_text(origin)}"]
    return "\n\n".join(["\n".join(head), *(_latex_table(table) for table in tables)]) + "\n"


def latex_text(text: object) -> str:
    r"""Text of datasets in one line, with every special character escaped.

    >>> print(latex_text("50% of a_b \\input{x}"))
    50\% of a\_b \textbackslash{}input\{x\}
    """
    return "".join(SIGNS.get(sign, sign) for sign in visible(text))


def _latex_table(table: PaperTable) -> str:
    note = "; ".join(EXPLAINED)
    for sign, command in NOTE_SIGNS.items():
        note = note.replace(sign, command)
    notes = "".join(f"{latex_text(entry)} " for entry in table.notes)
    titles = [f"{latex_text(column.title)}{LATEX_ARROWS[column.higher_is_better]}" for column in table.columns]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(table.subset)}. {notes}{note}.}}",
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
        for number, model in enumerate(table.controls, start=len(table.models))
        for line in _lines(table, number, model, " (control)")
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
        return NOT_TESTED if cell.is_untested else "--"
    mean = fixed(cell.estimate.mean, column.digits)
    shown = rf"\mathbf{{{mean}}}" if cell.is_best else mean
    return f"${shown}{mark}$"


def _interval(column: PaperColumn, cell: PaperCell) -> str:
    if cell.estimate is None:
        return ""
    interval = estimate_interval(cell.estimate, column.digits)
    shown = f"${interval}$" if cell.estimate.low is not None else scene_values(cell.estimate, column.digits)
    support = f"{cell.estimate.scored}{_includes(cell)}"
    return rf"{{\scriptsize {', '.join(part for part in (shown, support) if part)}}}"


def _label(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "results"


WRITERS: Mapping[str, Callable[[Sequence[PaperTable], str], str]] = {".tex": latex_tables, ".md": markdown_tables}


def write_estimates(run: Run, path: Path, controls: Sequence[str] = ()) -> None:
    """One table for each subset, or one row for each cell; the suffix of the path selects the format."""
    suffix = path.suffix.lower()
    if suffix not in (*WRITERS, *ROW_WRITERS):
        known = ", ".join((*WRITERS, *ROW_WRITERS))
        raise UserError(f"{path}: the suffix selects the format of estimates: expected one of {known}.")
    (found,) = with_controls([load_run(run, run.path.name)], controls)
    if suffix in ROW_WRITERS:
        write_row_file(path, SCHEMA, estimate_rows(leaderboards([found])))
        return
    origin = f"suite {found.about['suite']}, lock {found.about['lock_sha256'][:16]}"
    text = WRITERS[suffix](paper_tables(found), origin)
    write_file(path, lambda file: file.write(text.encode()))
