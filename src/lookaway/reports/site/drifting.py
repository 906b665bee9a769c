"""Drift curves: every metric that gives single frames a value, one chart for each metric, lock and subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lookaway.reports.drift import Drift, drifts
from lookaway.reports.drift_text import half_life_row
from lookaway.reports.site.boards import Board
from lookaway.reports.site.charts.lines import Curve, lines
from lookaway.reports.site.charts.svg import Chart
from lookaway.reports.site.gather import SiteRun

FRAMES = "frames since the mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftChart:
    """Curves of one board, and after how many frames half is lost."""

    chart: Chart
    half_lives: tuple[tuple[str, str, str, str], ...]
    """Model, half-life, its interval, and why there is none."""


def drift_charts(runs: Sequence[SiteRun], boards: Sequence[Board], styles: Mapping[str, int]) -> list[DriftChart]:
    """The curves of all rollouts with a score, whether a gate lets them count or not."""
    found: dict[tuple[str, str, str], list[tuple[str, Drift]]] = {}
    for run in runs:
        locks = {metric.name: metric.lock for metric in run.metrics}
        for drift in drifts(run.run) if run.run.metrics_with_frames() else []:
            place = (drift.metric, locks[drift.metric], drift.subset)
            found.setdefault(place, []).append((run.name, drift))
    charts = []
    for board in boards:
        own = found.get((board.metric.name, board.metric.lock, board.subset), [])
        labels = {(row.run, row.cell.model): row.model for row in board.rows}
        named = [(labels[run, drift.model], drift) for run, drift in own if (run, drift.model) in labels]
        if named:
            charts.append(_chart(board, named, styles))
    return charts


def _chart(board: Board, named: Sequence[tuple[str, Drift]], styles: Mapping[str, int]) -> DriftChart:
    named = sorted(named, key=lambda entry: styles[entry[0]])
    curves = [Curve(model=model, style=styles[model], bins=drift.bins) for model, drift in named]
    rows = [(model, half_life_row(drift)) for model, drift in named]
    return DriftChart(
        chart=lines(f"{board.title} over frames", curves, board.metric.range, FRAMES),
        half_lives=tuple((model, row["half-life"], row["95 %"], row["not told"]) for model, row in rows),
    )
