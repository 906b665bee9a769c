"""Means, shares and ratios with 95 % intervals, clustered by scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_bootstrap import (
    DRAWS,
    MIN_SCENES,
    SEED,
    Interval,
    SceneSums,
    bounded_bootstrap,
    named_scene_sums,
    poisson_weights,
    scene_bootstrap,
    scene_weights,
)

Range = tuple[float | None, float | None]
"""Least and greatest possible value; `None` where there is no limit."""


def clustered_estimate(
    mean: float, influences: Floats, scenes: Sequence[str], *, scored: int, level: float = 0.95
) -> Estimate:
    """An estimate with an interval from the influence of every rollout, clustered by scene."""
    _, scene = np.unique(np.asarray(scenes), return_inverse=True)
    by_scene = np.bincount(scene, weights=influences).astype(np.float64, copy=False)
    return influence_estimate(mean, by_scene, scored=scored, level=level)


def influence_estimate(mean: float, influences: Floats, *, scored: int, level: float = 0.95) -> Estimate:
    """An estimate with a t interval of G-1 degrees of freedom, from the influence of each of its G scenes.

    The standard error is sqrt(G / (G-1) * sum of squared influences). There is no interval below 5 scenes, nor where no
    scene has an influence: nothing is known then about how scenes differ.
    """
    scenes = len(influences)
    error = float(np.sqrt(scenes / max(1, scenes - 1) * np.sum(influences**2)))
    if scenes < MIN_SCENES or error <= ROUNDING * abs(mean):
        return Estimate(mean=mean, low=None, high=None, scored=scored, scenes=scenes)
    from scipy.special import stdtrit  # scipy.stats alone would double the start-up time

    reach = float(stdtrit(scenes - 1, (1 + level) / 2)) * error
    return Estimate(mean=mean, low=mean - reach, high=mean + reach, scored=scored, scenes=scenes)


FEW_SCENES = 40
"""With fewer, intervals of unbounded values are t intervals, since the bootstrap of so few scenes covers too little."""
VALUES_AT_ONCE = 5_000_000
ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less than this, relative to the numbers."""
UNBOUNDED: Range = (None, None)


def mean_estimates(
    cells: Sequence[SceneSums],
    ranges: Sequence[Range] | None = None,
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = SEED,
) -> tuple[Estimate | None, ...]:
    """The mean of every cell, given the sums of its scenes, [scenes]; `None` where it has no value.

    A cell with fewer than 5 scenes has their means in place of an interval. Where the range of the values has both
    ends, the interval is `bounded_bootstrap`; otherwise it is the t interval of G-1 degrees of freedom below 40 scenes,
    the scene bootstrap from there on, and none where all scenes are equal. All cells share one product with the draws,
    and none of their intervals depends on the others.
    """
    limits = [UNBOUNDED] * len(cells) if ranges is None else ranges
    found = [_with_t_interval(cell, level) for cell in cells]
    bounded, drawn = [], []
    for place, (estimate, (low, high)) in enumerate(zip(found, limits, strict=True)):
        if estimate is None or estimate.scenes < MIN_SCENES:
            continue
        if low is not None and high is not None:
            bounded.append(place)
        elif estimate.scenes >= FEW_SCENES and estimate.low is not None:
            drawn.append(place)
    for some in _parts(bounded, cells, draws):
        sums, counts = _totals([cells[place] for place in some])
        ends = np.array([limits[place] for place in some], np.float64).T
        intervals = bounded_bootstrap(sums, counts, ends, level=level, draws=draws, seed=seed)
        for place, low, high in zip(some, *intervals.tolist(), strict=True):
            found[place] = _with_ends(found[place], low, high)
    for some in _parts(drawn, cells, draws):
        totals = _totals([cells[place] for place in some])
        weights = poisson_weights(totals.shape[-1], draws=draws, seed=seed)
        for place, interval in zip(
            some, scene_bootstrap(totals, lambda parts: parts[0] / parts[1], weights, level=level), strict=True
        ):
            if interval is not None:
                found[place] = _with_ends(found[place], interval.low, interval.high)
    return tuple(estimate and clip_interval(estimate, ends) for estimate, ends in zip(found, limits, strict=True))


def _parts(places: Sequence[int], cells: Sequence[SceneSums], draws: int) -> Iterator[Sequence[int]]:
    """Cells that are drawn together, few enough for the memory."""
    largest = max((len(cells[place].sums) for place in places), default=0)
    at_once = max(1, VALUES_AT_ONCE // max(largest, draws))
    for start in range(0, len(places), at_once):
        yield places[start : start + at_once]


def _totals(cells: Sequence[SceneSums]) -> Floats:
    """Sums and counts, [2, cells, scenes], padded with scenes that have no value."""
    totals = np.zeros((2, len(cells), max(len(cell.sums) for cell in cells)))
    for place, cell in enumerate(cells):
        totals[:, place, : len(cell.sums)] = cell.sums, cell.counts
    return totals


def _with_t_interval(cell: SceneSums, level: float) -> Estimate | None:
    """The influence of a scene is the sum of its residuals over the number of values."""
    scored = int(cell.counts.sum())
    if not scored:
        return None
    known = cell.counts > 0
    sums, counts = cell.sums[known], cell.counts[known]
    mean = float(sums.sum()) / scored
    estimate = influence_estimate(mean, (sums - mean * counts) / scored, scored=scored, level=level)
    return estimate if estimate.low is not None else replace(estimate, scene_means=distinct_means(sums / counts))


def distinct_means(means: Floats) -> tuple[float, ...]:
    """The means of scenes, smallest first; a single number where all are equal.

    >>> distinct_means(np.array([0.4, 0.2])), distinct_means(np.array([0.2, 0.2]))
    ((0.2, 0.4), (0.2,))
    """
    ordered: list[float] = np.sort(means).tolist()
    is_equal = ordered[-1] - ordered[0] <= ROUNDING * max(abs(ordered[0]), abs(ordered[-1]))
    return tuple(ordered[:1] if is_equal else ordered)


def _with_ends(estimate: Estimate | None, low: float, high: float) -> Estimate | None:
    """Sums of the same numbers in another order differ in their last digits, so the ends make sure of the mean."""
    if estimate is None:
        return None
    return replace(estimate, low=min(low, estimate.mean), high=max(high, estimate.mean), scene_means=())


def clip_interval(estimate: Estimate, value_range: Range) -> Estimate:
    """The estimate with an interval that does not leave a range, unless the mean itself does.

    >>> clip_interval(Estimate(mean=0.9, low=0.7, high=1.1, scored=8, scenes=8), (0.0, 1.0)).high
    1.0
    """
    least, greatest = value_range
    if estimate.low is None or estimate.high is None:
        return estimate
    low = estimate.low if least is None else min(max(estimate.low, least), estimate.mean)
    high = estimate.high if greatest is None else max(min(estimate.high, greatest), estimate.mean)
    return replace(estimate, low=low, high=high)


def scene_mean(
    values: Floats, scenes: Sequence[str], value_range: Range = UNBOUNDED, *, level: float = 0.95
) -> Estimate | None:
    """The mean of some values, with the interval of `mean_estimates`; `None` where there is no value.

    >>> estimate = scene_mean(np.array([0.8, 0.9, 1.0, 1.0, 1.0]), list("abcde"), (0.0, 1.0))
    >>> round(estimate.mean, 3), round(estimate.low, 2), round(estimate.high, 2), estimate.scored
    (0.94, 0.56, 0.99, 5)
    >>> scene_mean(np.array([0.2, 0.4, 0.6]), ["a", "b", "c"]).scene_means
    (0.2, 0.4, 0.6)
    """
    return scene_means([(values, scenes)], value_range, level=level)[0]


def scene_means(
    series: Sequence[tuple[Floats, Sequence[str]]], value_range: Range = UNBOUNDED, *, level: float = 0.95
) -> tuple[Estimate | None, ...]:
    """The means of many series of values of one metric and their scenes, computed together."""
    sums = [named_scene_sums(values, scenes) for values, scenes in series]
    return mean_estimates(sums, [value_range] * len(sums), level=level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """A share with its interval."""

    share: float
    low: float
    high: float
    hits: int
    total: int


def proportion(hits: int, total: int, *, level: float = 0.95) -> Proportion | None:
    """A share with Wilson's interval, which takes rollouts as independent; `None` where there are none.

    >>> found = proportion(31, 300)
    >>> round(found.low, 3), round(found.high, 3)
    (0.074, 0.143)
    """
    if not total:
        return None
    low, high = wilson(np.array([hits]), np.array([total]), level=level)
    return Proportion(share=hits / total, low=float(low[0]), high=float(high[0]), hits=hits, total=total)


def wilson(hits: Indices, totals: Indices, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Both ends of Wilson's interval, for many shares at once."""
    from scipy.special import ndtri

    if not ((hits >= 0) & (hits <= totals) & (totals > 0)).all():
        raise ValueError("A share is of at least one, and of no more than there are.")
    z = float(ndtri((1 + level) / 2))
    share, grown = hits / totals, totals + z**2
    middle = (hits + z**2 / 2) / grown
    reach = z / grown * np.sqrt(totals * share * (1 - share) + z**2 / 4)
    # At both ends the interval reaches 0 and 1 exactly, whatever rounding says.
    low = np.where(hits == 0, 0.0, middle - reach)
    high = np.where(hits == totals, 1.0, middle + reach)
    return low, high


def clustered_share(yes: NDArray[np.bool_], scenes: Sequence[str], *, level: float = 0.95) -> Estimate | None:
    """The share of yes with Wilson's interval at the effective sample size; `None` where there is no clip.

    With one clip per scene that is Wilson's interval itself. With more, n is divided by the design effect, the ratio of
    the clustered to the independent variance, times (t / z)^2 of G-1 degrees of freedom (Korn and Graubard), but not by
    less than 1. Where all answers are equal, the design effect is unknown, and a scene counts as one clip. Fewer than 5
    scenes have their own shares in place of an interval.

    >>> found = clustered_share(np.arange(50) < 37, [str(clip) for clip in range(50)])
    >>> found.mean, round(found.low, 2), round(found.high, 2)
    (0.74, 0.6, 0.84)
    """
    if not len(yes):
        return None
    _, scene, sizes = np.unique(np.asarray(scenes, np.str_), return_inverse=True, return_counts=True)
    count, share = len(yes), float(np.mean(yes))
    if len(sizes) < MIN_SCENES:
        shares = distinct_means(np.bincount(scene, weights=yes) / sizes)
        return Estimate(mean=share, low=None, high=None, scored=count, scenes=len(sizes), scene_means=shares)
    effective = effective_count(yes, scenes, level=level)
    low, high = wilson(np.array([share * effective]), np.array([effective]), level=level)
    return Estimate(mean=share, low=float(low[0]), high=float(high[0]), scored=count, scenes=len(sizes))


def effective_count(yes: NDArray[np.bool_], scenes: Sequence[str], *, level: float = 0.95) -> float:
    """How many independent answers these are worth: their number over the design effect of `clustered_share`.

    >>> effective_count(np.array([True, True, False]), ["a", "b", "c"])
    3.0
    """
    _, scene, sizes = np.unique(np.asarray(scenes, np.str_), return_inverse=True, return_counts=True)
    count, share = len(yes), float(np.mean(yes))
    if count <= len(sizes) or len(sizes) == 1:
        return float(len(sizes))
    residuals = np.bincount(scene, weights=yes - share)
    clustered = len(sizes) / (len(sizes) - 1) * float(np.sum(residuals**2)) / count**2
    independent = share * (1 - share) / count
    excess = clustered / independent * _t_inflation(len(sizes), level) if independent else count / len(sizes)
    return count / max(1.0, excess)


def _t_inflation(scenes: int, level: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(scenes - 1, (1 + level) / 2) / ndtri((1 + level) / 2)) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSize:
    """Effective sample sizes; arrays without the axis of scenes."""

    size: Floats
    """n / (1 + (m - 1) ICC) for n values with m values in the mean scene; 0 where there is no value."""
    similarity: Floats
    """ICC, the intraclass correlation: similarity of values of one scene, from 0 (as any others) to 1 (equal)."""


def effective_size(sums: SceneSums) -> EffectiveSize:
    """The effective sample size, with the intraclass correlation of a one-way analysis of variance.

    ICC = (B - W) / (B + (k - 1) W) for the mean squares B between and W within scenes, where k = (n - sum n_g^2 / n) /
    (G - 1) values are in a scene. It is taken as 0 where it would be negative, where no scene has two values, and
    where all values are equal. One scene alone counts as one value.
    """
    counts = sums.counts.astype(np.float64)
    n, scenes = counts.sum(-1), sums.scenes.astype(np.float64)
    some = np.maximum(n, 1)
    mean = sums.sums.sum(-1) / some
    scene_means = sums.sums / np.maximum(counts, 1)
    between = np.sum(counts * (scene_means - mean[..., None]) ** 2, axis=-1) / np.maximum(scenes - 1, 1)
    within = sums.squares.sum(-1) / np.maximum(n - scenes, 1)
    usual = (n - np.sum(counts**2, axis=-1) / some) / np.maximum(scenes - 1, 1)
    whole = between + (usual - 1) * within
    # Equal values have means that differ in their last digits.
    noise = 1e-24 * np.max(np.abs(scene_means), axis=-1, initial=0.0) ** 2
    is_known = (n > scenes) & (between + within > noise)
    similarity = np.divide(between - within, whole, out=np.zeros_like(whole), where=is_known)
    similarity = np.where((scenes == 1) & (n > 1), 1.0, np.clip(similarity, 0.0, 1.0))
    size = n / (1 + (n / np.maximum(scenes, 1) - 1) * similarity)
    return EffectiveSize(size=size, similarity=similarity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio of sums with its interval by the delta method, and by resampling scenes."""

    estimate: Estimate
    """With the delta-method interval, clustered by scene."""
    drawn: Interval | None
    """Bootstrap interval; `None` where the estimate has none or the ratio is undefined without some scene."""
    draws: int
    seed: int


def ratio(
    numerators: Floats, denominators: Floats, scenes: Sequence[str], *, draws: int = DRAWS, seed: int = SEED
) -> Ratio | None:
    """The sum of numerators over that of denominators; `None` where the latter is not above 0.

    >>> found = ratio(np.array([1.0, 0.0, 2.0]), np.array([2.0, 1.0, 2.0]), ["a", "b", "c"])
    >>> found.estimate.mean
    0.6
    """
    tops, bottoms = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    whole = float(bottoms.sum())
    if whole <= 0:
        return None
    mean = float(tops.sum()) / whole
    names, place = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    totals = np.array([[np.bincount(place, weights=part, minlength=len(names))] for part in (tops, bottoms)])
    weights = scene_weights(len(names), draws=draws, seed=seed).T
    (drawn,) = scene_bootstrap(totals, lambda parts: parts[0] / parts[1], [weights])
    estimate = clustered_estimate(mean, (tops - mean * bottoms) / whole, scenes, scored=len(tops))
    return Ratio(
        estimate=estimate,
        drawn=None if estimate.low is None else drawn,
        draws=draws,
        seed=seed,
    )
