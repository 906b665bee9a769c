"""Means over rollouts, of any number of cells at once, with intervals that know of scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookaway.core import Estimate, Floats
from lookaway.statistics.clustered_estimate import moved_estimate
from lookaway.statistics.scene_bootstrap import DRAWS, SEED, free_weights, scene_bootstrap
from lookaway.statistics.scene_sums import SceneSums

FEW_SCENES = 40
"""With fewer, intervals are t intervals: they hold what they promise where draws of so few scenes do not."""
VALUES_AT_ONCE = 5_000_000


def mean_estimates(
    cells: Sequence[SceneSums], *, level: float = 0.95, draws: int = DRAWS, seed: int = SEED
) -> tuple[Estimate | None, ...]:
    """The mean of every cell, given the sums of its scenes, [scenes]; `None` where it has no value.

    With fewer than 40 scenes the interval is the t interval of G-1 degrees of freedom, else that of the scene
    bootstrap. All cells share one product with the draws, and none of their intervals depends on the others.
    """
    found = [_with_t_interval(cell, level) for cell in cells]
    many = [place for place, estimate in enumerate(found) if estimate is not None and estimate.scenes >= FEW_SCENES]
    largest = max((len(cells[place].sums) for place in many), default=0)
    at_once = max(1, VALUES_AT_ONCE // max(largest, draws))
    for start in range(0, len(many), at_once):
        some = many[start : start + at_once]
        weights = free_weights(largest, draws=draws, seed=seed)
        totals = _totals([cells[place] for place in some], largest)
        drawn = scene_bootstrap(totals, lambda parts: parts[0] / parts[1], weights, level=level)
        for place, interval in zip(some, drawn, strict=True):
            estimate = found[place]
            if estimate is not None and interval is not None:
                found[place] = replace(estimate, low=interval.low, high=interval.high)
    return tuple(found)


def _totals(cells: Sequence[SceneSums], scenes: int) -> Floats:
    """Sums and counts, [2, cells, scenes]; scenes that a cell has beyond its own are without a value."""
    totals = np.zeros((2, len(cells), scenes))
    for place, cell in enumerate(cells):
        totals[:, place, : len(cell.sums)] = cell.sums, cell.counts
    return totals


def _with_t_interval(cell: SceneSums, level: float) -> Estimate | None:
    """A scene moves the mean by the sum of its residuals, by how many values there are."""
    scored = int(cell.counts.sum())
    if not scored:
        return None
    mean = float(cell.sums.sum()) / scored
    moves = ((cell.sums - mean * cell.counts) / scored)[cell.counts > 0]
    return moved_estimate(mean, moves, scored=scored, level=level)
