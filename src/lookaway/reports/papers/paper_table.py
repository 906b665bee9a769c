"""The estimates of a run as tables for a paper: one for each subset, models by metrics, with marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lookaway.core import Estimate
from lookaway.reports.numbers import digits_for
from lookaway.reports.site.boards import Board, Row, boards
from lookaway.reports.site.gather import SiteRun
from lookaway.statistics.precision import Precision, precision

EXPLAINED = (
    "95 % intervals clustered by scene, and n",
    "† imprecise: half the interval is more than a tenth of what the metric spans, or n is worth fewer than 30",
    "‡ not estimable: n is below 10; only the interval is shown",
    "bold: told apart from every other model that is estimable, all at once; baselines do not compete",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperCell:
    """A number with its mark."""

    estimate: Estimate | None
    precision: Precision
    is_best: bool = False
    """Whether it is told apart from every other estimable model that competes, and better."""


NO_CELL = PaperCell(estimate=None, precision=precision(None, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperColumn:
    """One metric, or what a gate makes of it."""

    title: str
    higher_is_better: bool | None
    digits: int
    cells: tuple[PaperCell, ...]
    """One for each model, then one for each baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperTable:
    """All metrics of one subset."""

    subset: str
    models: tuple[str, ...]
    baselines: tuple[str, ...]
    """Models that do not compete; they stand below the others."""
    columns: tuple[PaperColumn, ...]
    notes: tuple[str, ...]
    """What the suite says of all its numbers."""


def paper_tables(run: SiteRun) -> list[PaperTable]:
    """Tables in the order of the run's own table."""
    subsets: dict[str, list[Board]] = {}
    for board in boards([run]):
        subsets.setdefault(board.subset, []).append(board)
    return [_table(run, subset, own) for subset, own in subsets.items()]


def _table(run: SiteRun, subset: str, own: Sequence[Board]) -> PaperTable:
    is_baseline = {row.model: row.baseline is not None for board in own for row in board.rows}
    order = dict.fromkeys(cell.model for cell in run.table.cells if cell.model in is_baseline)
    models = tuple(model for model in order if not is_baseline[model])
    baselines = tuple(model for model in order if is_baseline[model])
    short = Counter(board.short for board in own)
    columns = []
    for board in own:
        title = board.short if short[board.short] == 1 else board.metric.name
        columns += _metric_columns(board, (*models, *baselines), title)
    return PaperTable(
        subset=subset, models=models, baselines=baselines, columns=tuple(columns), notes=tuple(run.table.notes)
    )


def _metric_columns(board: Board, models: Sequence[str], title: str) -> list[PaperColumn]:
    rows = {row.model: row for row in board.rows}
    has_rivals = sum(row.ranks is not None for row in board.rows) > 1
    cells = {
        model: PaperCell(estimate=row.cell.estimate, precision=row.precision, is_best=has_rivals and _is_first(row))
        for model, row in rows.items()
    }
    columns = [_column(title, board.metric.higher_is_better, models, cells)]
    if board.is_gated:
        columns += _gate_columns(rows, models, title)
    return columns


def _is_first(row: Row) -> bool:
    return row.ranks is not None and row.ranks.worst == 1


def _gate_columns(rows: Mapping[str, Row], models: Sequence[str], title: str) -> list[PaperColumn]:
    """How many were put to the test, and the score and this share as one number."""
    coverages, combined = {}, {}
    for model, row in rows.items():
        if row.cell.gated:
            coverages[model] = PaperCell(estimate=row.cell.gated.coverage, precision=row.coverage)
            combined[model] = PaperCell(estimate=row.cell.gated.combined, precision=row.combined)
    return [
        _column(f"{title}: triggered", True, models, coverages),
        _column(f"{title}: M-Score", True, models, combined),
    ]


def _column(title: str, higher: bool | None, models: Sequence[str], cells: Mapping[str, PaperCell]) -> PaperColumn:
    means = [cell.estimate.mean for cell in cells.values() if cell.estimate]
    own = tuple(cells.get(model, NO_CELL) for model in models)
    return PaperColumn(title=title, higher_is_better=higher, digits=digits_for(means), cells=own)
