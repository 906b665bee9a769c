"""Breakdowns of a leaderboard by seed, by phase of the clip, and by subset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow
from lookaway.reports.runs import LoadedRun
from lookaway.statistics.intervals import scene_means
from lookaway.statistics.precision import SeedSpread, seed_spread

PHASE = re.compile(r"(phase|segment)([0-9]{1,9})")
"""Names of units that are phases of a clip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """Estimates of models by subset or phase."""

    title: str
    parts: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    """Model, and one estimate per subset or phase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """How much the means of one model vary with the seed, on the leaderboards of a suite."""

    model: str
    spreads: tuple[SeedSpread | None, ...]
    """One per leaderboard; `None` where fewer than two seeds have values."""


def subset_tables(leaderboards: Sequence[Leaderboard]) -> list[Slices]:
    """One table for each metric and lock that covers two subsets or more."""
    metrics: dict[tuple[str, str], list[Leaderboard]] = {}
    for leaderboard in leaderboards:
        metrics.setdefault((leaderboard.metric.name, leaderboard.metric.lock), []).append(leaderboard)
    return [_by_subset(own) for own in metrics.values() if len(own) > 1]


def phase_tables(runs: Sequence[LoadedRun], leaderboards: Sequence[Leaderboard]) -> list[Slices]:
    """One table for each leaderboard whose metric has values of phases, over the rollouts that count."""
    phased = {run.name: run.run.metrics_with_units(PHASE.pattern) for run in runs}
    found = []
    for leaderboard in leaderboards:
        own = [run for run in runs if run.suite == leaderboard.suite and leaderboard.metric.name in phased[run.name]]
        if (table := _by_phase(own, leaderboard)) is not None:
            found.append(table)
    return found


def seed_rows(leaderboards: Sequence[Leaderboard]) -> list[SeedRow]:
    """Every model that has values of two seeds or more on any leaderboard."""
    models = list(dict.fromkeys(row.model for leaderboard in leaderboards for row in leaderboard.rows))
    rows = [
        SeedRow(model=model, spreads=tuple(_spread(leaderboard, model) for leaderboard in leaderboards))
        for model in sorted(models)
    ]
    return [row for row in rows if any(row.spreads)]


def _by_subset(leaderboards: Sequence[Leaderboard]) -> Slices:
    models = sorted({row.model for leaderboard in leaderboards for row in leaderboard.rows})
    found = [{row.model: row.cell.estimate for row in leaderboard.rows} for leaderboard in leaderboards]
    title = leaderboards[0].metric.name
    if leaderboards[0].is_one_of_several_locks:
        title += f" · lock {leaderboards[0].metric.lock[:8]}"
    return Slices(
        title=title,
        parts=tuple(leaderboard.subset for leaderboard in leaderboards),
        rows=tuple((model, tuple(own.get(model) for own in found)) for model in models),
    )


def _by_phase(runs: Sequence[LoadedRun], leaderboard: Leaderboard) -> Slices | None:
    found: dict[tuple[str, str], tuple[list[float], list[str]]] = {}
    for run in runs:
        for model, phase, value, scene in _phases(run, leaderboard):
            values, scenes = found.setdefault((model, phase), ([], []))
            values.append(value)
            scenes.append(scene)
    parts = sorted({phase for _, phase in found}, key=_phase_order)
    if len(parts) < 2:
        return None
    series = [(np.array(values), scenes) for values, scenes in found.values()]
    means = dict(zip(found, scene_means(series, leaderboard.metric.range), strict=True))
    models = [row.model for row in leaderboard.rows]
    return Slices(
        title=leaderboard.title,
        parts=tuple(parts),
        rows=tuple((model, tuple(means.get((model, phase)) for phase in parts)) for model in models),
    )


def _phases(run: LoadedRun, leaderboard: Leaderboard) -> Iterator[tuple[str, str, float, str]]:
    """Model, phase, value and scene of every phase of a rollout that counts on this leaderboard."""
    counted: Mapping[str, LeaderboardRow] = {
        rollout: row for row in leaderboard.rows if row.run == run.name for rollout in row.values.rollouts
    }
    if not counted:
        return
    for unit in run.units(leaderboard.metric.name):
        row = counted.get(unit["rollout"])
        if row is not None and unit["status"] == "score" and PHASE.fullmatch(unit["unit"]):
            yield row.model, unit["unit"], unit["value"], run.rollouts[unit["rollout"]].scene


def _phase_order(phase: str) -> tuple[str, int]:
    match = PHASE.fullmatch(phase)
    return (match[1], int(match[2])) if match else (phase, 0)


def _spread(leaderboard: Leaderboard, model: str) -> SeedSpread | None:
    row = next((row for row in leaderboard.rows if row.model == model), None)
    if row is None:
        return None
    names = sorted(set(row.values.seeds))
    number = {name: index for index, name in enumerate(names)}
    found = seed_spread(row.values.values, [number[seed] for seed in row.values.seeds])
    return found if found and found.seeds > 1 else None
