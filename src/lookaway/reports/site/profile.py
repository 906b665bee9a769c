"""Profiles of models: their means on all leaderboards that share a scale, their coverage, and their drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lookaway.core import TRIGGERED, Estimate, Reason
from lookaway.reports.charts.funnel import FunnelStep, funnel
from lookaway.reports.charts.lines import Curve, lines
from lookaway.reports.charts.profiles import MAX_AXES, MIN_AXES, Profile, dot_plot, radar
from lookaway.reports.charts.scatter import CoveragePoint, scatter
from lookaway.reports.charts.svg import Chart
from lookaway.reports.drift import Drift, drifts, half_life_row
from lookaway.reports.leaderboards import HEADLINE, Leaderboard, LeaderboardRow, all_subsets, headline
from lookaway.reports.runs import LoadedRun
from lookaway.reports.wrbench.attribution import attribution_notes, attributions, funnels
from lookaway.statistics.intervals import proportion

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_RADARS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSection:
    """The leaderboards of one scale: a dot plot with its table, and a radar for each model where that is readable."""

    axes: tuple[str, ...]
    scale: str
    dots: Chart
    radars: tuple[tuple[str, Markup], ...]
    """Model and chart."""
    no_radars: str
    """Why there are none; empty where there are."""


def profiles(leaderboards: Sequence[Leaderboard], styles: Mapping[str, int]) -> list[ProfileSection]:
    """One section for each scale that two leaderboards or more share; metrics without a finite range have no scale."""
    scales: dict[tuple[object, ...], list[Leaderboard]] = {}
    for leaderboard in leaderboards:
        if leaderboard.metric.span:
            scale = (leaderboard.metric.range, leaderboard.metric.unit, leaderboard.metric.higher_is_better)
            scales.setdefault(scale, []).append(leaderboard)
    return [_section(own, styles) for own in scales.values() if len(own) > 1]


def coverage_charts(leaderboards: Sequence[Leaderboard], styles: Mapping[str, int]) -> list[Chart]:
    """Coverage against score, for every leaderboard with a trigger gate."""
    charts = []
    for leaderboard in leaderboards:
        if leaderboard.gate_label != TRIGGERED:
            continue
        points = [point for row in leaderboard.rows if (point := _point(row, styles)) is not None]
        low, high = leaderboard.metric.range
        if points and low is not None and high is not None:
            charts.append(scatter(f"{leaderboard.title} against coverage", points, (low, high)))
    return charts


def _section(leaderboards: Sequence[Leaderboard], styles: Mapping[str, int]) -> ProfileSection:
    low, high = leaderboards[0].metric.range
    ends = (low or 0.0, high or 0.0)
    axes = axis_names(leaderboards)
    models = list(dict.fromkeys(row.model for leaderboard in leaderboards for row in leaderboard.rows))
    found = [
        Profile(
            model=model,
            style=styles[model],
            estimates=tuple(_estimate(leaderboard, model) for leaderboard in leaderboards),
            is_control=any(
                row.model == model and row.control for leaderboard in leaderboards for row in leaderboard.rows
            ),
        )
        for model in sorted(models, key=lambda model: styles[model])
    ]
    found = [profile for profile in found if any(profile.estimates)]
    why_not = _why_no_radars(len(axes), len(found))
    direction = {True: "higher is better", False: "lower is better", None: "direction unknown"}
    return ProfileSection(
        axes=axes,
        scale=f"{ends[0]:g} to {ends[1]:g}, {direction[leaderboards[0].metric.higher_is_better]}",
        dots=dot_plot("Means of all models", axes, found, ends),
        radars=() if why_not else tuple((profile.model, radar(profile, axes, ends)) for profile in found),
        no_radars=why_not,
    )


def axis_names(leaderboards: Sequence[Leaderboard]) -> tuple[str, ...]:
    """Short names where they are unique, else with their subsets, else full titles."""
    short = Counter(leaderboard.short for leaderboard in leaderboards)
    names = [
        leaderboard.short if short[leaderboard.short] == 1 else f"{leaderboard.short} on {leaderboard.subset}"
        for leaderboard in leaderboards
    ]
    shown = Counter(names)
    return tuple(
        name if shown[name] == 1 else leaderboard.title for leaderboard, name in zip(leaderboards, names, strict=True)
    )


def _why_no_radars(axes: int, models: int) -> str:
    if not models:
        return "No model has a value that can be compared."
    if axes < MIN_AXES:
        return f"A radar chart needs at least {MIN_AXES} axes."
    if axes > MAX_AXES:
        return f"{axes} axes are too many for a radar chart."
    return f"{models} models are too many for radar charts." if models > MAX_RADARS else ""


def _estimate(leaderboard: Leaderboard, model: str) -> Estimate | None:
    return next((row.cell.estimate for row in leaderboard.comparable if row.model == model), None)


def _point(row: LeaderboardRow, styles: Mapping[str, int]) -> CoveragePoint | None:
    gated, score = row.cell.gated, row.cell.estimate
    if gated is None or gated.coverage is None or score is None:
        return None
    return CoveragePoint(
        model=row.model,
        style=styles[row.model],
        coverage=gated.coverage,
        score=score,
        combined=gated.combined,
        control=row.control,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSection:
    """Where the rollouts of a run fail first, for each model."""

    run: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    """Why outcomes are not known."""


def attribution_funnels(runs: Sequence[LoadedRun]) -> list[AttributionSection]:
    """A section for each run of WRBench whose rollouts have a known outcome."""
    found = []
    for run in runs:
        rows = attributions(run.run)
        if charts := funnels(rows):
            notes = tuple(attribution_notes(rows))
            found.append(AttributionSection(run=run.name, charts=tuple(charts), notes=notes))
    return found


FAILED, NO_VALUE, UNTESTED, FORGOTTEN, REMEMBERED, MEASURED = (
    "failed",
    "no value",
    "memory not tested",
    "forgotten",
    "remembered",
    "measured",
)
"""Steps of a funnel."""


def memory_funnels(leaderboards: Sequence[Leaderboard]) -> list[Chart]:
    """For each model, from all rollouts to those that remembered; to measured ones where no metric says who did.

    Rollouts that failed, have no value, or are known not to have tested memory fall out on the way.
    """
    board = headline(leaderboards)
    if board is None or not board.is_gated:
        return []
    rows: dict[str, list[LeaderboardRow]] = {row.model: [] for row in board.rows}
    for part in all_subsets(board, leaderboards):
        for row in part.rows:
            rows.setdefault(row.model, []).append(row)
    found = []
    for model, own in rows.items():
        steps = _funnel_steps(own, is_verdict=board.metric.name == HEADLINE)
        if steps:
            name = f"{model} (control)" if any(row.control for row in own) else model
            found.append(funnel(f"{name}: from all rollouts to {steps[-1].label}", steps))
    return found


def _funnel_steps(rows: Sequence[LeaderboardRow], *, is_verdict: bool) -> list[FunnelStep]:
    """What falls out on the way, also where nothing does, so that models can be compared; and what is left."""
    asked, scored = sum(row.cell.asked for row in rows), sum(row.cell.scored for row in rows)
    failed = sum(row.cell.failures for row in rows)
    untested = sum(row.cell.reasons.get(Reason.GATE_CLOSED.value, 0) for row in rows)
    remembered = sum(int((row.values.values > 0.5).sum()) for row in rows)
    lost = {FAILED: failed, NO_VALUE: asked - scored - untested - failed, UNTESTED: untested}
    last, left = (REMEMBERED, remembered) if is_verdict else (MEASURED, scored)
    if is_verdict:
        lost[FORGOTTEN] = scored - remembered
    steps = [(label, proportion(count, asked)) for label, count in {**lost, last: left}.items()]
    return [FunnelStep(label=label, share=share) for label, share in steps if share is not None]


FRAMES = "frames since the mark"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftChart:
    """Drift curves of one leaderboard, with their half-lives."""

    chart: Chart
    half_lives: tuple[tuple[str, str, str, str], ...]
    """Model, half-life, its interval, and why there is none."""


def drift_charts(
    runs: Sequence[LoadedRun], leaderboards: Sequence[Leaderboard], styles: Mapping[str, int]
) -> list[DriftChart]:
    """The curves over the rollouts that count."""
    found: dict[tuple[str, str, str], list[tuple[str, Drift]]] = {}
    for run in runs:
        locks = {metric.name: metric.lock for metric in run.metrics}
        for drift in drifts(run.run) if run.run.metrics_with_frames() else []:
            key = (drift.metric, locks[drift.metric], drift.subset)
            found.setdefault(key, []).append((run.name, drift))
    charts = []
    for leaderboard in leaderboards:
        own = found.get((leaderboard.metric.name, leaderboard.metric.lock, leaderboard.subset), [])
        labels = {(row.run, row.cell.model): row.model for row in leaderboard.rows}
        named = [(labels[run, drift.model], drift) for run, drift in own if (run, drift.model) in labels]
        if named:
            charts.append(_chart(leaderboard, named, styles))
    return charts


def _chart(leaderboard: Leaderboard, named: Sequence[tuple[str, Drift]], styles: Mapping[str, int]) -> DriftChart:
    named = sorted(named, key=lambda entry: styles[entry[0]])
    curves = [Curve(model=model, style=styles[model], bins=drift.bins) for model, drift in named]
    rows = [(model, half_life_row(drift)) for model, drift in named]
    return DriftChart(
        chart=lines(f"{leaderboard.title} over frames", curves, leaderboard.metric.range, FRAMES),
        half_lives=tuple((model, row["half-life"], row["95 %"], row["no half-life"]) for model, row in rows),
    )
