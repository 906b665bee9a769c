"""Compares the table of a run with a published one, cell by cell."""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from lookaway.core import Cell, Estimate, Json, Lock, UserError
from lookaway.engine.run import Run
from lookaway.reports.as_published import MEASURE, is_corrected
from lookaway.reports.lock_explanations import Tolerance, lock_differences, locked_constants
from lookaway.reports.numbers import counts, fixed, print_json, print_lines, print_rows
from lookaway.reports.published_table import PublishedCell

ROUNDING = 1e-9
"""A difference equal to the tolerance is within it, despite floating point."""


class FigureVerdict(StrEnum):
    """The result for one number."""

    AGREES = "agrees"
    OF_ENVIRONMENT = "of the environment"
    INSIDE_INTERVAL = "inside our interval"
    DIFFERS = "differs"
    MISSING_HERE = "missing here"
    MISSING_THERE = "missing there"
    NOT_AS_PUBLISHED = "not as published"


SHOULD_BE_EXPLAINED = frozenset({FigureVerdict.DIFFERS, FigureVerdict.INSIDE_INTERVAL})
NOT_REPRODUCED = frozenset({FigureVerdict.DIFFERS, FigureVerdict.MISSING_HERE, FigureVerdict.NOT_AS_PUBLISHED})
OF_A_GATE = frozenset({"s_rel", "c_trig", "m_score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureComparison:
    """One number of ours beside theirs; scores are between 0 and 1."""

    model: str
    metric: str
    subset: str
    figure: str
    """`score` is the mean over the rollouts that count, `raw` the same in the native unit. A gate gives `s_rel`, which
    is that score, `c_trig`, the share of rollouts that triggered, and `m_score`, both as one number."""
    ours: float | None
    theirs: float | None
    verdict: FigureVerdict
    n: int
    asked: int
    their_n: int | None
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less theirs."""
        return None if self.ours is None or self.theirs is None else self.ours - self.theirs


def compare(
    cells: Sequence[Cell],
    published: Sequence[PublishedCell],
    tolerance: float,
    environments: Mapping[str, Tolerance] | None = None,
    departures: Mapping[str, str] | None = None,
) -> list[FigureComparison]:
    """Every published number, in the order of the file, then our cells that are not published.

    A score agrees where the two differ by no more than the tolerance; a raw value, whose unit may be anything, where
    they differ by no more than the tolerance times the published value or 1, whichever is larger. `environments` says
    how far those of the two sides may move each metric. `departures` are metrics of published names that were measured
    in another way, with why: their numbers are not held against published ones.
    """
    if not math.isfinite(tolerance):
        raise UserError(f"The tolerance is {tolerance}, expected a finite number.")
    matches = [(row, _match(cells, row)) for row in published]
    taken = Counter(id(cell) for _, cell in matches if cell is not None)
    for row, cell in matches:
        if cell is not None and taken[id(cell)] > 1:
            raise UserError(f"Line {row.line}: {row.model}, {row.metric} names the same cell as another line.")
    margins = _Margins(tolerance, environments or {}, departures or {})
    found = [entry for row, cell in matches for entry in _compare_row(row, cell, cells, margins)]
    return found + [_unpublished(cell) for cell in cells if not taken[id(cell)]]


def _match(cells: Sequence[Cell], row: PublishedCell) -> Cell | None:
    """The cell that a row names; a metric may be named by the last part of its name."""
    named = [cell for cell in cells if cell.model == row.model and row.subset in (None, cell.subset)]
    fitting = [cell for cell in named if cell.metric == row.metric]
    # The last part of a name stands for the published metric, as everywhere.
    short = [cell for cell in named if cell.metric.endswith(f".{row.metric}") and not is_corrected(cell.metric)]
    fitting = fitting or short
    if len(fitting) > 1:
        fits = ", ".join(f"{cell.metric} of {cell.subset}" for cell in fitting)
        raise UserError(
            f"Line {row.line}: {row.model}, {row.metric} could be {fits}. Give its subset or its whole name."
        )
    return fitting[0] if fitting else None


@dataclass(frozen=True, slots=True)
class _Margins:
    """How far a number may be from the published one."""

    tolerance: float
    environments: Mapping[str, Tolerance]
    departures: Mapping[str, str]

    def usual(self, figure: str, theirs: float) -> float:
        return self.tolerance * (max(1.0, abs(theirs)) if figure == "raw" else 1.0)

    def of_environment(self, cell: Cell | None, figure: str) -> tuple[float, tuple[str, ...]]:
        """How far the environments may move it, and what in them."""
        moved = None if cell is None else self.environments.get(cell.metric)
        if moved is None or figure not in ("score", "s_rel", "raw"):
            return 0.0, ()
        return moved.raw if figure == "raw" else moved.value, moved.moved_by


def _compare_row(
    row: PublishedCell, cell: Cell | None, cells: Sequence[Cell], margins: _Margins
) -> Iterator[FigureComparison]:
    for figure, theirs in row.figures.items():
        estimate, ours = (None, None) if cell is None else _ours(cell, figure)
        margin = margins.usual(figure, theirs)
        moved, moved_by = margins.of_environment(cell, figure)
        verdict = _verdict(ours, theirs, estimate, margin)
        note = _note(cell, figure, theirs, margin, verdict) if cell else _missing(row, cells)
        if verdict in SHOULD_BE_EXPLAINED and ours is not None and abs(ours - theirs) <= moved + ROUNDING:
            verdict = FigureVerdict.OF_ENVIRONMENT
            note = f"{' and '.join(moved_by)} may move it by {moved:.2g}"
        if cell is not None and (why := margins.departures.get(cell.metric)):
            verdict, note = FigureVerdict.NOT_AS_PUBLISHED, f"{why}; measure it with: {MEASURE}"
        yield FigureComparison(
            model=row.model,
            metric=row.metric if cell is None else cell.metric,
            subset=(row.subset or "") if cell is None else cell.subset,
            figure=figure,
            ours=ours,
            theirs=theirs,
            verdict=verdict,
            n=cell.scored if cell else 0,
            asked=cell.asked if cell else 0,
            their_n=row.n,
            note=note,
        )


def _ours(cell: Cell, figure: str) -> tuple[Estimate | None, float | None]:
    """Our number, and the estimate that has its interval."""
    if figure == "raw":
        return None, cell.raw_mean
    known = {"score": cell.estimate}
    if cell.gated is not None:
        known |= {"s_rel": cell.estimate, "c_trig": cell.gated.coverage, "m_score": cell.gated.combined}
    estimate = known.get(figure)
    return estimate, estimate.mean if estimate else None


def _verdict(ours: float | None, theirs: float, estimate: Estimate | None, margin: float) -> FigureVerdict:
    if ours is None:
        return FigureVerdict.MISSING_HERE
    if abs(ours - theirs) <= margin + ROUNDING:
        return FigureVerdict.AGREES
    if estimate and estimate.low is not None and estimate.high is not None and estimate.low <= theirs <= estimate.high:
        return FigureVerdict.INSIDE_INTERVAL
    return FigureVerdict.DIFFERS


def _missing(row: PublishedCell, cells: Sequence[Cell]) -> str:
    """Why a row has no cell; one of a corrected metric is no published value."""
    last = row.metric.rpartition(".")[2]
    repaired = (cell.metric for cell in cells if cell.model == row.model and is_corrected(cell.metric))
    if any(name == last or name.endswith(f".{last}") for name in repaired):
        return f"the run has the corrected metric alone; measure the published one with: {MEASURE}"
    return "the run has no such cell"


def _note(cell: Cell, figure: str, theirs: float, margin: float, verdict: FigureVerdict) -> str:
    if verdict is FigureVerdict.MISSING_HERE:
        if figure in OF_A_GATE and cell.gated is None:
            return "raw consistency: the run has no gate"
        return ": ".join(filter(None, (f"no {figure}", counts(cell.reasons, cell.failures))))
    if verdict in SHOULD_BE_EXPLAINED and figure in ("score", "s_rel"):
        _, combined = _ours(cell, "m_score")
        if combined is not None and abs(combined - theirs) <= margin + ROUNDING:
            return "theirs is our M-Score: call the column m_score"
    return f"includes {cell.untested} untested" if cell.untested else ""


def _unpublished(cell: Cell) -> FigureComparison:
    return FigureComparison(
        model=cell.model,
        metric=cell.metric,
        subset=cell.subset,
        figure="score",
        ours=cell.estimate.mean if cell.estimate else None,
        theirs=None,
        verdict=FigureVerdict.MISSING_THERE,
        n=cell.scored,
        asked=cell.asked,
        their_n=None,
    )


def is_reproduced(comparisons: Iterable[FigureComparison]) -> bool:
    """Whether every published number is here and none differs."""
    return not any(entry.verdict in NOT_REPRODUCED for entry in comparisons)


DIGITS = 4


def print_verdicts(
    run: Run,
    comparisons: Sequence[FigureComparison],
    theirs: Lock | None,
    *,
    notes: Sequence[str],
    ignored_columns: Sequence[str],
    as_json: bool,
) -> None:
    """Every number with its verdict, the notes, and what could explain those that differ."""
    differing = dict.fromkeys(entry.metric for entry in comparisons if entry.verdict in SHOULD_BE_EXPLAINED)
    explanations = {metric: _explanations(run, metric, theirs) for metric in differing}
    counts = Counter(entry.verdict.value for entry in comparisons)
    if as_json:
        cells = [{**asdict(entry), "difference": entry.difference} for entry in comparisons]
        print_json(
            {
                "cells": cells,
                "verdicts": dict(counts),
                "notes": list(notes),
                "ignored_columns": list(ignored_columns),
                "could_explain": explanations,
            }
        )
        return
    print_rows([_row(entry) for entry in comparisons], as_json=False, right=("ours", "theirs", "difference"))
    print_lines([", ".join(f"{count} {verdict}" for verdict, count in counts.items())])
    print_lines([f"note: {note}" for note in notes])
    if ignored_columns:
        print_lines([f"note: ignored columns of the published table: {', '.join(ignored_columns)}"])
    for metric, entries in explanations.items():
        print_lines(_paragraph(metric, entries, has_lock=theirs is not None))


def _row(entry: FigureComparison) -> dict[str, str]:
    return {
        "model": entry.model,
        "metric": entry.metric,
        "subset": entry.subset,
        "figure": entry.figure,
        "ours": fixed(entry.ours, DIGITS),
        "theirs": fixed(entry.theirs, DIGITS),
        "difference": fixed(entry.difference, DIGITS),
        "verdict": entry.verdict.value,
        "scored": f"{entry.n} of {entry.asked}",
        "n there": "-" if entry.their_n is None else str(entry.their_n),
        "note": entry.note,
    }


def _explanations(run: Run, metric: str, theirs: Lock | None) -> list[dict[str, Json]]:
    """Locked constants of a metric and of the gates that decide which of its rollouts count."""
    metrics = {entry.name: entry for entry in run.metrics}
    names = [metric, *(name for name, entry in metrics.items() if metrics[metric].depends_on(entry))]
    if theirs is None:
        return [{"path": path, "ours": value} for path, value in locked_constants(run.lock, names)]
    return [
        {"path": path, "ours": ours, "theirs": other} for path, ours, other in lock_differences(run.lock, theirs, names)
    ]


def _paragraph(metric: str, entries: Sequence[dict[str, Json]], *, has_lock: bool) -> list[str]:
    if not has_lock:
        title = f"{metric}: possible explanations, if the published numbers were made with other values:"
        return [title, *(f"  {entry['path']} = {_short(entry['ours'])}" for entry in entries)]
    if not entries:
        return [f"{metric}: the locks agree in everything that concerns it; the videos may differ."]
    title = f"{metric}: possible explanations:"
    return [
        title,
        *(f"  {entry['path']}: {_short(entry['ours'])} here, {_short(entry['theirs'])} there" for entry in entries),
    ]


def _short(value: Any) -> str:
    return reprlib.repr(value)
