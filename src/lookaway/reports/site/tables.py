"""Boards as the tables of a page: every number as text, and beside it what a column is sorted by."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import Estimate
from lookaway.reports.numbers import counts, fixed
from lookaway.reports.site.boards import Board, Row
from lookaway.reports.site.charts.scale import extent
from lookaway.reports.site.charts.strip import strip
from lookaway.reports.site.pairwise import Matrix, Pair
from lookaway.reports.site.profile import axis_names
from lookaway.reports.site.slices import SeedRow
from lookaway.statistics.precision import Mark

if TYPE_CHECKING:
    from markupsafe import Markup

USUAL_DIGITS = 3
TO = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One cell: its text, what it is sorted by, and what is to be said of it in small letters."""

    text: str
    sort: float | str | None = None
    note: str = ""
    classes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardLine:
    """One model on a board, ready to be printed."""

    model: str
    style: int
    baseline: str | None
    rank: Shown
    group: Shown
    mean: Shown
    bar: Markup
    support: Shown
    scenes: Shown
    coverage: Shown
    combined: Shown
    lacking: str


def digits_of(values: Sequence[float]) -> int:
    """Three digits after the point, more where all values are small, fewer where they are large.

    >>> digits_of([0.5]), digits_of([0.0004]), digits_of([31.2, 28.7]), digits_of([])
    (3, 6, 2, 3)
    """
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0:
        return USUAL_DIGITS
    if largest < 0.1:
        return USUAL_DIGITS - 1 - math.floor(math.log10(largest))
    return USUAL_DIGITS if largest < 10 else max(0, USUAL_DIGITS - math.floor(math.log10(largest)))


def board_digits(board: Board) -> int:
    """How many digits all numbers of a board have."""
    return digits_of([row.cell.estimate.mean for row in board.rows if row.cell.estimate])


def board_lines(board: Board, styles: Mapping[str, int]) -> list[BoardLine]:
    """The rows of a board."""
    digits = board_digits(board)
    ends = board_ends(board)
    return [
        BoardLine(
            model=row.model,
            style=styles[row.model],
            baseline=row.baseline,
            rank=rank_text(row),
            group=_group(row),
            mean=mean_text(row, digits),
            bar=strip(row.cell.estimate, ends, styles[row.model], is_hollow=not row.is_comparable),
            support=_support(row),
            scenes=_scenes(row),
            coverage=_estimate(row.cell.gated.coverage if row.cell.gated else None),
            combined=_estimate(row.cell.gated.combined if row.cell.gated else None),
            lacking=counts(row.cell.reasons, row.cell.failures),
        )
        for row in board.rows
    ]


def board_ends(board: Board) -> tuple[float, float]:
    """What the bars of a board span."""
    estimates = [row.cell.estimate for row in board.rows if row.cell.estimate]
    known = [end for e in estimates for end in (e.mean, e.low, e.high) if end is not None]
    return extent(known, board.metric.range)


def overview(boards: Sequence[Board], styles: Mapping[str, int]) -> list[tuple[str, list[Shown]]]:
    """Every model on every board of a suite, for one look."""
    found = []
    cells = [{row.model: (row, board_digits(board)) for row in board.rows} for board in boards]
    for model in sorted({row.model for board in boards for row in board.rows}, key=lambda model: styles[model]):
        line = []
        for own in cells:
            row, digits = own.get(model, (None, 0))
            line.append(Shown(text="-") if row is None else _overview_cell(row, digits))
        found.append((model, line))
    return found


def mean_text(row: Row, digits: int) -> Shown:
    """The mean with its interval; what is not estimable is shown as its interval alone."""
    estimate = row.cell.estimate
    if estimate is None:
        return Shown(text="-")
    interval = _interval(estimate, digits)
    mark = row.precision.mark.value
    if row.precision.mark is Mark.NOT_ESTIMABLE:
        return Shown(text=f"{interval or 'no interval'}{mark}", sort=None, classes="weak")
    return Shown(text=f"{fixed(estimate.mean, digits)}{mark}", sort=estimate.mean, note=interval or "no interval")


def rank_text(row: Row) -> Shown:
    """The best and the worst rank that a model may have.

    A single rank means that the model is told apart from all others.
    """
    if row.ranks is None:
        return Shown(text="-")
    best, worst = row.ranks.best, row.ranks.worst
    return Shown(text=f"{best}" if best == worst else f"{best}{TO}{worst}", sort=best + worst / 1000)


def matrix_cells(matrix: Matrix) -> list[list[Shown | None]]:
    """The upper half of a matrix, row by row; `None` is an empty place."""
    digits = board_digits(matrix.board)
    size = len(matrix.models)
    return [
        [_pair_cell(matrix.pairs[one, other], digits) if other > one else None for other in range(1, size)]
        for one in range(size - 1)
    ]


def seed_table(
    boards: Sequence[Board], rows: Sequence[SeedRow]
) -> tuple[tuple[str, ...], list[tuple[str, list[Shown]]]]:
    """Boards that have several seeds, and for every model the spread on each."""
    kept = [place for place in range(len(boards)) if any(row.spreads[place] for row in rows)]
    names = axis_names(boards)
    lines = []
    for row in rows:
        line = []
        for place in kept:
            spread, digits = row.spreads[place], board_digits(boards[place])
            if spread is None:
                line.append(Shown(text="-"))
                continue
            ends = f"{fixed(spread.low, digits)}{TO}{fixed(spread.high, digits)} of {spread.seeds}"
            line.append(Shown(text=f"±{fixed(spread.deviation, digits)}", sort=spread.deviation, note=ends))
        lines.append((row.model, line))
    return tuple(names[place] for place in kept), lines


def _pair_cell(pair: Pair | None, digits: int) -> Shown:
    if pair is None:
        return Shown(text="-", note="no shared case")
    size = f"{pair.found.difference.mean:+z.{digits}f}"
    q = f"q {pair.q:.3f}" if pair.q >= 0.001 else "q <0.001"
    if not pair.is_apart:
        return Shown(text=f"≈ {size}", note=q, classes="tied")
    sign = {True: "▲ ", False: "▼ ", None: ""}[pair.is_first_better]
    classes = {True: "better", False: "worse", None: ""}[pair.is_first_better]
    return Shown(text=f"{sign}{size}", note=q, classes=classes)


def _overview_cell(row: Row, digits: int) -> Shown:
    shown, rank = mean_text(row, digits), rank_text(row)
    note = f"rank {rank.text}" if row.ranks else f"{row.cell.scored} of {row.cell.asked}"
    classes = "weak" if not row.is_comparable else "best" if row.tie == 0 else ""
    return Shown(text=shown.text, sort=shown.sort, note=note, classes=classes)


def _group(row: Row) -> Shown:
    if row.tie is None:
        return Shown(text="-")
    letters = string.ascii_uppercase
    name = letters[row.tie] if row.tie < len(letters) else f"{row.tie + 1}"
    return Shown(text=name, sort=row.tie, classes="even" if row.tie % 2 == 0 else "odd")


def _support(row: Row) -> Shown:
    if row.support is None:
        return Shown(text="0 of 0")
    share = row.support
    return Shown(
        text=f"{share.hits} of {share.total}",
        sort=share.share,
        note=f"{_percent(share.low)}{TO}{_percent(share.high)} %",
    )


def _scenes(row: Row) -> Shown:
    scenes = row.cell.estimate.scenes if row.cell.estimate else 0
    return Shown(text=f"{scenes}", sort=scenes)


def _estimate(estimate: Estimate | None) -> Shown:
    if estimate is None:
        return Shown(text="-")
    return Shown(text=fixed(estimate.mean), sort=estimate.mean, note=_interval(estimate, USUAL_DIGITS) or "no interval")


def _interval(estimate: Estimate, digits: int) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{fixed(estimate.low, digits)}{TO}{fixed(estimate.high, digits)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
