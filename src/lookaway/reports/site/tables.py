"""Leaderboards as tables of a page: every number as text, with the value that its column is sorted by."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import TRIGGERED, Estimate
from lookaway.reports.charts.svg import extent, strip
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow, Matrix, Pair, ordered_models
from lookaway.reports.numbers import MIN_DIGITS, counts, digits_for, fixed, scene_values
from lookaway.reports.site.profile import axis_names
from lookaway.reports.site.slices import SeedRow

if TYPE_CHECKING:
    from markupsafe import Markup

TO = "\N{EN DASH}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One cell: its text, the value it is sorted by, and lines of small print below it."""

    text: str
    sort: float | str | None = None
    notes: tuple[str, ...] = ()
    classes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewLine:
    """One model on all leaderboards of a suite, ready to be printed."""

    model: str
    control: str | None
    cells: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardLine:
    """One model on a leaderboard, ready to be printed."""

    model: str
    style: int
    control: str | None
    rank: TableCell
    group: TableCell
    mean: TableCell
    bar: Markup
    support: TableCell
    scenes: TableCell
    coverage: TableCell
    combined: TableCell
    lacking: str


def leaderboard_digits(leaderboard: Leaderboard) -> int:
    """How many digits all numbers of a leaderboard have."""
    return digits_for([row.cell.estimate.mean for row in leaderboard.rows if row.cell.estimate])


def leaderboard_lines(leaderboard: Leaderboard, styles: Mapping[str, int]) -> list[LeaderboardLine]:
    """The rows of a leaderboard."""
    digits = leaderboard_digits(leaderboard)
    ends = leaderboard_ends(leaderboard)
    return [
        LeaderboardLine(
            model=row.model,
            style=styles[row.model],
            control=row.control,
            rank=rank_text(row),
            group=_group(row),
            mean=mean_text(row, digits),
            bar=strip(
                row.cell.estimate, ends, styles[row.model], is_hollow=not row.is_comparable or row.control is not None
            ),
            support=_support(row),
            scenes=_scenes(row),
            coverage=_estimate(row.cell.gated.coverage if row.cell.gated else None),
            combined=_estimate(row.cell.gated.combined if row.cell.gated else None),
            lacking=counts(row.cell.reasons, row.cell.failures),
        )
        for row in leaderboard.rows
    ]


def leaderboard_ends(leaderboard: Leaderboard) -> tuple[float, float]:
    """The axis of the bars of a leaderboard."""
    estimates = [row.cell.estimate for row in leaderboard.rows if row.cell.estimate]
    known = [end for e in estimates for end in (e.mean, e.low, e.high) if end is not None]
    return extent(known, leaderboard.metric.range)


def overview(leaderboards: Sequence[Leaderboard]) -> list[OverviewLine]:
    """Every model on every leaderboard of a suite: the best ranks first, controls last."""
    cells = [
        {row.model: (row, leaderboard_digits(leaderboard)) for row in leaderboard.rows} for leaderboard in leaderboards
    ]
    controls = {row.model: row.control for leaderboard in leaderboards for row in leaderboard.rows}
    found = []
    for model in ordered_models(leaderboards):
        line = [_overview_cell(*own[model]) if model in own else TableCell(text="-") for own in cells]
        found.append(OverviewLine(model=model, control=controls[model], cells=tuple(line)))
    return found


def mean_text(row: LeaderboardRow, digits: int) -> TableCell:
    """The mean with its mark and interval; one that is not estimable is pale."""
    estimate = row.cell.estimate
    if estimate is None:
        return TableCell(text="not tested", classes="weak") if row.cell.is_untested else TableCell(text="-")
    return TableCell(
        text=f"{fixed(estimate.mean, digits)}{row.precision.mark.value}",
        sort=estimate.mean,
        notes=(_interval(estimate, digits),),
        classes="" if row.precision.is_estimable else "weak",
    )


def rank_text(row: LeaderboardRow) -> TableCell:
    """The range of ranks of a model; a single rank means that it differs significantly from all others."""
    if row.ranks is None:
        return TableCell(text="-")
    best, worst = row.ranks.best, row.ranks.worst
    return TableCell(text=f"{best}" if best == worst else f"{best}{TO}{worst}", sort=best + worst / 1000)


def matrix_cells(matrix: Matrix) -> list[list[TableCell | None]]:
    """The upper half of a matrix, row by row; `None` is an empty cell."""
    digits = leaderboard_digits(matrix.leaderboard)
    size = len(matrix.models)
    return [
        [_pair_cell(matrix.pairs[one, other], digits) if other > one else None for other in range(1, size)]
        for one in range(size - 1)
    ]


def seed_table(
    leaderboards: Sequence[Leaderboard], rows: Sequence[SeedRow]
) -> tuple[tuple[str, ...], list[tuple[str, list[TableCell]]]]:
    """Leaderboards with several seeds, and the spread of every model on each."""
    kept = [index for index in range(len(leaderboards)) if any(row.spreads[index] for row in rows)]
    names = axis_names(leaderboards)
    lines = []
    for row in rows:
        line = []
        for index in kept:
            spread, digits = row.spreads[index], leaderboard_digits(leaderboards[index])
            if spread is None:
                line.append(TableCell(text="-"))
                continue
            ends = f"{fixed(spread.low, digits)}{TO}{fixed(spread.high, digits)} of {spread.seeds}"
            line.append(TableCell(text=f"±{fixed(spread.deviation, digits)}", sort=spread.deviation, notes=(ends,)))
        lines.append((row.model, line))
    return tuple(names[index] for index in kept), lines


def _pair_cell(pair: Pair | None, digits: int) -> TableCell:
    if pair is None:
        return TableCell(text="-", notes=("no shared case",))
    size = f"{pair.found.difference.mean:+z.{digits}f}"
    q = f"q {pair.q:.3f}" if pair.q >= 0.001 else "q <0.001"
    if not pair.is_significant:
        notes = (q, "below the card") if pair.is_below_card else (q,)
        return TableCell(text=f"≈ {size}", notes=notes, classes="tied")
    sign = {True: "▲ ", False: "▼ ", None: ""}[pair.is_first_better]
    classes = {True: "better", False: "worse", None: ""}[pair.is_first_better]
    return TableCell(text=f"{sign}{size}", notes=(q,), classes=classes)


def _overview_cell(row: LeaderboardRow, digits: int) -> TableCell:
    shown = mean_text(row, digits)
    classes = "weak" if not row.is_comparable else "best" if row.tie == 0 else ""
    support = f"{row.cell.scored} of {row.cell.asked}"
    ranked = f"rank {rank_text(row).text} · {support}" if row.ranks else support
    return TableCell(text=shown.text, sort=shown.sort, notes=(*shown.notes, ranked, *_gate_notes(row)), classes=classes)


def _gate_notes(row: LeaderboardRow) -> tuple[str, ...]:
    """The share of rollouts that passed the gate, and for a trigger the M-Score; or how many would not have."""
    if row.cell.gated is None:
        return _untested(row)
    gated = row.cell.gated
    share = f"{gated.label} {fixed(gated.coverage.mean if gated.coverage else None)}"
    if gated.label != TRIGGERED:
        return (share,)
    return (share, f"M-Score {fixed(gated.combined.mean if gated.combined else None)}")


def _group(row: LeaderboardRow) -> TableCell:
    if row.tie is None:
        return TableCell(text="-")
    letters = string.ascii_uppercase
    name = letters[row.tie] if row.tie < len(letters) else f"{row.tie + 1}"
    return TableCell(text=name, sort=row.tie, classes="even" if row.tie % 2 == 0 else "odd")


def _support(row: LeaderboardRow) -> TableCell:
    if row.support is None:
        return TableCell(text="0 of 0")
    share = row.support
    return TableCell(
        text=f"{share.hits} of {share.total}",
        sort=share.share,
        notes=(f"{_percent(share.low)}{TO}{_percent(share.high)} %", *_untested(row)),
    )


def _untested(row: LeaderboardRow) -> tuple[str, ...]:
    return (f"includes {row.cell.untested} untested",) if row.cell.untested else ()


def _scenes(row: LeaderboardRow) -> TableCell:
    scenes = row.cell.estimate.scenes if row.cell.estimate else 0
    return TableCell(text=f"{scenes}", sort=scenes)


def _estimate(estimate: Estimate | None) -> TableCell:
    if estimate is None:
        return TableCell(text="-")
    return TableCell(text=fixed(estimate.mean), sort=estimate.mean, notes=(_interval(estimate),))


def _interval(estimate: Estimate, digits: int = MIN_DIGITS) -> str:
    if estimate.low is None or estimate.high is None:
        return scene_values(estimate, digits) or "no interval"
    between = TO if estimate.low >= 0 else " to "  # a dash before or after a minus sign cannot be read
    return f"{fixed(estimate.low, digits)}{between}{fixed(estimate.high, digits)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"
