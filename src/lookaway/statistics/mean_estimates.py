"""Means of many models and metrics at once, with intervals that know of scenes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_bootstrap import DRAWS, scene_bootstrap
from lookaway.statistics.scene_sums import SceneSums

FEW_SCENES = 40
"""With fewer, intervals are t intervals: they hold what they promise where draws of so few scenes do not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanEstimates:
    """Estimates by model and metric, and how their intervals were made."""

    estimates: tuple[tuple[Estimate | None, ...], ...]
    """By model, then metric; `None` where there is no value."""
    draws: int
    seed: int

    def is_drawn(self, model: int, metric: int) -> bool:
        """Whether the interval of a cell is from draws of scenes, and not a t interval."""
        estimate = self.estimates[model][metric]
        return estimate is not None and estimate.scenes >= FEW_SCENES


def mean_estimates(sums: SceneSums, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0) -> MeanEstimates:
    """A mean over rollouts for every model and metric; sums are [models, metrics, scenes].

    With fewer than 40 scenes the interval is that of `scene_mean`, else the scene bootstrap's. One scene has none.
    """
    models, metrics, scenes = sums.sums.shape
    values, counts = (part.reshape(-1, scenes).astype(np.float64) for part in (sums.sums, sums.counts))
    scored, supports = counts.sum(-1).astype(np.int64), np.count_nonzero(counts, axis=-1)
    means = values.sum(-1) / np.maximum(scored, 1)
    reaches = _reaches(values - means[:, None] * counts, scored, supports, level)
    lows, highs = means - reaches, means + reaches
    many = np.flatnonzero(supports >= FEW_SCENES)
    totals = np.stack([values[many], counts[many]])
    drawn = scene_bootstrap(totals, lambda parts: parts[0] / parts[1], level=level, draws=draws, seed=seed)
    for place, interval in zip(many, drawn.intervals, strict=True):
        if interval:
            lows[place], highs[place] = interval.low, interval.high
    columns = (column.tolist() for column in (means, lows, highs, scored, supports))
    cells = [_estimate(*cell) for cell in zip(*columns, strict=True)]
    return MeanEstimates(
        estimates=tuple(tuple(cells[model * metrics : (model + 1) * metrics]) for model in range(models)),
        draws=draws,
        seed=seed,
    )


def _reaches(residuals: Floats, scored: Indices, supports: Indices, level: float) -> Floats:
    """Half the width of every t interval; 0 where there is none, so that no number is missing on the way."""
    from scipy.special import stdtrit

    has_interval = supports > 1
    degrees = np.where(has_interval, supports - 1, 1)
    errors = np.sqrt((degrees + 1) / degrees * np.sum(residuals**2, axis=-1)) / np.maximum(scored, 1)
    return np.where(has_interval, stdtrit(degrees, (1 + level) / 2) * errors, 0.0)


def _estimate(mean: float, low: float, high: float, scored: int, scenes: int) -> Estimate | None:
    if not scored:
        return None
    ends = (low, high) if scenes > 1 else (None, None)
    return Estimate(mean=mean, low=ends[0], high=ends[1], scored=scored, scenes=scenes)
