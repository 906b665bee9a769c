"""Statistics that are functions of sums over scenes, with intervals from resampled scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import Estimate, Floats
from lookaway.statistics.scene_bootstrap import MIN_SCENES

MAX_UNDEFINED = 0.05
"""Share of undefined replicates above which there is no interval."""


@dataclass(frozen=True, slots=True)
class SumStatistic:
    """A number that is a function of the sums of columns."""

    columns: Floats
    """[rows, sums]"""
    formula: Callable[[Floats], Floats]
    """From sums [replicates, sums] to values [replicates]; NaN where the number is not defined."""

    def value(self) -> float | None:
        """The number itself."""
        return finite_or_none(self.formula(self.columns.sum(axis=0, keepdims=True))[0])

    def estimate(self, scenes: Sequence[str], weights: Floats | None, *, scored: int | None = None) -> Estimate | None:
        """The number with its interval; weights [replicates, scenes] are bootstrap counts of scenes, ordered by name.

        Without weights there is no interval.
        """
        value = self.value()
        if value is None:
            return None
        sums = sums_by_scene(self.columns, scenes)
        replicates = None if weights is None else self.formula(resampled_sums(sums, weights))
        return replicate_estimate(
            value, replicates, scored=len(self.columns) if scored is None else scored, scenes=len(sums)
        )


def sums_by_scene(columns: Floats, scenes: Sequence[str]) -> Floats:
    """Sums of the rows of every scene [scenes, sums], in the order of the scenes' names."""
    if len(columns) != len(scenes):
        raise ValueError(f"Expected one scene per row, found {len(columns)} rows and {len(scenes)} scenes.")
    names, scene = np.unique(np.asarray(scenes), return_inverse=True)
    sums = np.zeros((len(names), columns.shape[1]))
    np.add.at(sums, scene, columns)
    return sums


def resampled_sums(sums: Floats, weights: Floats) -> Floats:
    """Sums of resampled scenes [replicates, sums]."""
    if weights.ndim != 2 or weights.shape[1] != len(sums):
        raise ValueError(f"Expected weights [replicates, {len(sums)} scenes], found {list(weights.shape)}.")
    return np.asarray(weights, np.float64) @ sums


def replicate_estimate(
    value: float, replicates: Floats | None, *, scored: int, scenes: int, level: float = 0.95
) -> Estimate:
    """An estimate with the expanded percentile interval of its replicates.

    Percentile intervals are too narrow where scenes are few. The percentiles are moved out so that the interval of a
    mean is as wide as its t interval with G-1 degrees of freedom; it never leaves the range of the statistic. There is
    none below 5 scenes, nor where all replicates are equal.

    >>> replicates = np.random.default_rng(1).normal(0.5, 0.1, 2000)
    >>> estimate = replicate_estimate(0.5, replicates, scored=80, scenes=40)
    >>> round(estimate.low, 1), round(estimate.high, 1)
    (0.3, 0.7)
    """
    known = np.array([]) if replicates is None else replicates[np.isfinite(replicates)]
    plain = Estimate(mean=value, low=None, high=None, scored=scored, scenes=scenes)
    if scenes < MIN_SCENES or replicates is None or len(known) < max(1, (1 - MAX_UNDEFINED) * len(replicates)):
        return plain
    from scipy.special import ndtr, stdtrit

    reach = float(stdtrit(scenes - 1, (1 + level) / 2)) * np.sqrt(scenes / (scenes - 1))
    low, high = np.quantile(known, [float(ndtr(-reach)), float(ndtr(reach))])
    return replace(plain, low=float(low), high=float(high)) if low < high else plain


def safe_divide(numerator: Floats, denominator: Floats) -> Floats:
    """A quotient that is NaN where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    out = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=out, where=np.broadcast_to(np.asarray(denominator) != 0, shape))
    return out


def finite_or_none(value: float) -> float | None:
    """A plain number, or `None` where it is not defined."""
    return float(value) if np.isfinite(value) else None
