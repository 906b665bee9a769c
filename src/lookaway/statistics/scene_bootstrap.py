"""Bootstrap over scenes: all draws of all numbers in one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices

DRAWS = 2_000
SEED = 0
"""Seed of every table, so that the same rows give the same intervals."""
MIN_SCENES = 5
"""Fewer scenes have no interval: their own values say more."""
ADDED_SCENES = 0.5
"""Weight of the scene at the end of the range that stands for what was not drawn; as in Jeffreys' prior of a share."""
SCENES_AT_ONCE = 5_000
LEVELS = 2**16
"""Entries of a table of quantiles, which is far quicker than drawing Poisson or exponential numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float


def scene_weights(scenes: int, *, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Bootstrap counts [draws, scenes]: as many scenes as there are, with replacement."""
    picks = np.random.default_rng(seed).integers(scenes, size=(draws, scenes))
    picks += np.arange(draws)[:, None] * scenes
    return np.bincount(picks.ravel(), minlength=draws * scenes).reshape(draws, scenes).astype(np.float64)


def poisson_weights(scenes: int, *, draws: int = DRAWS, seed: int = SEED) -> Iterator[Floats]:
    """Poisson bootstrap counts of mean 1, in parts of [scenes, draws] to save memory.

    The counts of a scene do not depend on how many scenes follow, so that cells with different scenes share one product
    and do not depend on each other.
    """
    return _tabled_weights(_poisson_quantiles(), scenes, draws, seed)


def exponential_weights(scenes: int, *, draws: int = DRAWS, seed: int = SEED) -> Iterator[Floats]:
    """Weights of the Bayesian bootstrap, exponential with mean 1, in the same parts."""
    return _tabled_weights(_exponential_quantiles(), scenes, draws, seed)


def _tabled_weights(quantiles: Floats, scenes: int, draws: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for start in range(0, scenes, SCENES_AT_ONCE):
        levels = random.integers(LEVELS, size=(min(SCENES_AT_ONCE, scenes - start), draws), dtype=np.uint16)
        yield quantiles[levels]


def _shares(count: int) -> Floats:
    return (np.arange(count) + 0.5) / count


@cache
def _poisson_quantiles() -> Floats:
    from scipy.special import pdtr

    return np.searchsorted(pdtr(np.arange(10), 1.0), _shares(LEVELS)).astype(np.float64)


@cache
def _exponential_quantiles() -> Floats:
    return -np.log1p(-_shares(LEVELS))


@cache
def _added_weights(draws: int, seed: int) -> Floats:
    """The weight of the added scene in each draw: quantiles of its gamma distribution, in random order."""
    from scipy.special import gammaincinv

    return np.random.default_rng([seed, 1]).permutation(gammaincinv(ADDED_SCENES, _shares(draws)))


def scene_bootstrap(
    totals: Floats, combine: Callable[[Floats], Floats], weights: Iterable[Floats], *, level: float = 0.95
) -> tuple[Interval | None, ...]:
    """Intervals of statistics of totals over scenes; `None` where one is undefined without some scene.

    `totals` are [parts, numbers, scenes], 0 for a scene that a number does not have; `combine` computes the numbers
    from the parts, whatever axes follow the first: `lambda parts: parts[0] / parts[1]` is a mean from sums and counts.
    `weights` are bootstrap counts [scenes, draws], in one part or several. Intervals are bias-corrected and accelerated
    (BCa), and widened from the normal distribution to Student's t with G-1 degrees of freedom for G scenes.
    """
    parts, numbers, scenes = totals.shape
    resampled = _resampled_totals(totals.reshape(-1, scenes), weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = totals.sum(axis=-1)
        found = combine(whole)
        drawn = combine(resampled.reshape(parts, numbers, -1))
        without = combine(whole[:, :, None] - totals)
    present = np.any(totals != 0, axis=0)
    exists = np.isfinite(found) & np.isfinite(drawn).all(-1) & np.isfinite(without).all(-1) & (present.sum(-1) > 1)
    present = present[exists]
    ends = _bca_ends(found[exists], drawn[exists], _influences(without[exists], present), present.sum(-1), level)
    intervals: list[Interval | None] = [None] * numbers
    for place, low, high in zip(np.flatnonzero(exists).tolist(), *ends.tolist(), strict=True):
        intervals[place] = Interval(low=low, high=high)
    return tuple(intervals)


def bounded_bootstrap(
    sums: Floats, counts: Floats, limits: Floats, *, level: float = 0.95, draws: int = DRAWS, seed: int = SEED
) -> Floats:
    """Ends [2, cells] of intervals of means of bounded values, given sums and counts of scenes [cells, scenes].

    Scenes have random weights (Bayesian bootstrap), and half a scene is added whose values are the least possible for
    the lower end, and the greatest possible for the upper one. `limits` are [2, cells]. With whole scenes added, these
    are the bounds of Gaffke, and for yes and no those of Clopper and Pearson. Ends stay inside the limits, and where
    all values are equal the interval still has a width.
    """
    whole = counts.sum(-1)
    known = counts > 0
    means = np.divide(sums, counts, out=np.zeros_like(sums), where=known)
    # A value may leave its range by a rounding error; the limits then move to it.
    low = np.minimum(limits[0], np.min(means, axis=-1, where=known, initial=np.inf))
    high = np.maximum(limits[1], np.max(means, axis=-1, where=known, initial=-np.inf))
    scaled = (sums - low[:, None] * counts) / (high - low)[:, None]
    weights = exponential_weights(sums.shape[-1], draws=draws, seed=seed)
    drawn_sums, drawn_counts = np.split(_resampled_totals(np.concatenate([scaled, counts]), weights), 2)
    added = (whole / known.sum(-1))[:, None] * _added_weights(draws, seed)
    drawn_counts += added
    ends = [
        np.quantile(drawn_sums / drawn_counts, (1 - level) / 2, axis=-1),
        np.quantile((drawn_sums + added) / drawn_counts, (1 + level) / 2, axis=-1),
    ]
    intervals: Floats = np.clip(low + (high - low) * np.array(ends), low, high)
    return intervals


def _resampled_totals(totals: Floats, weights: Iterable[Floats]) -> Floats:
    """Totals of every draw [totals, draws]."""
    start, products = 0, []
    for part in weights:
        products.append(totals[:, start : start + len(part)] @ part)
        start += len(part)
    if start != totals.shape[-1]:
        raise ValueError(f"Expected weights for {totals.shape[-1]} scenes, found {start}.")
    return np.asarray(sum(products[1:], products[0]))


def _influences(without: Floats, present: NDArray[np.bool_]) -> Floats:
    """Jackknife influence of each scene; 0 for a scene that a number does not have."""
    usual = np.sum(without, axis=-1, where=present) / present.sum(-1)
    return np.where(present, usual[:, None] - without, 0.0)


def _bca_ends(found: Floats, drawn: Floats, influences: Floats, supports: Indices, level: float) -> Floats:
    """Both ends [2, numbers], from draws and from the influence of each scene, [numbers, draws or scenes]."""
    from scipy.special import ndtr, ndtri, stdtrit

    draws = drawn.shape[-1]
    # Sums of the same numbers in another order differ in their last digits and must count as the same.
    rounding = 1e-12 * np.abs(drawn).max(-1, keepdims=True)
    apart = drawn - found[:, None]
    below = ((apart < -rounding).sum(-1) + (apart <= rounding).sum(-1)) / 2
    bias = ndtri(np.clip(below, 0.5, draws - 0.5) / draws)
    spread = np.sum(influences**2, axis=-1) ** 1.5
    acceleration = np.divide(np.sum(influences**3, axis=-1), 6 * spread, out=np.zeros_like(spread), where=spread > 0)
    tail = stdtrit(supports - 1, (1 + level) / 2) * np.sqrt(supports / (supports - 1))
    shares = []
    for reach in (-tail, tail):
        moved = bias + reach
        # Far tails of a skewed number leave the range of the formula; the last draw is then the end.
        room = np.maximum(1 - acceleration * moved, 0.05)
        shares.append(ndtr(bias + moved / room))
    return _quantiles(np.sort(drawn, axis=-1), np.array(shares))


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Quantiles of each sorted row [rows, draws], at its own shares [ends, rows]."""
    places = shares * (ordered.shape[-1] - 1)
    lower = np.floor(places).astype(np.int64)
    upper = np.minimum(lower + 1, ordered.shape[-1] - 1)
    rows = np.arange(len(ordered))
    left: Floats = ordered[rows, lower]
    ends: Floats = left + (places - lower) * (ordered[rows, upper] - left)
    return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """One value of one rollout in each row, in any order: columns, since there may be millions."""

    models: Indices
    metrics: Indices
    scenes: Indices
    """Indices of the model, metric and scene of each value."""
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSums:
    """Sums over the values of each scene; scenes are the last axis, and a scene without values has count 0."""

    sums: Floats
    counts: Indices
    squares: Floats
    """Sum of squared deviations from the mean of the scene."""

    @property
    def scenes(self) -> Indices:
        """How many scenes have a value."""
        scenes: Indices = np.count_nonzero(self.counts, axis=-1)
        return scenes

    def of(self, *place: int | slice | Indices) -> SceneSums:
        """A part along the axes before the scenes: `of(slice(None), 3)` is one metric of all models."""
        return SceneSums(sums=self.sums[place], counts=self.counts[place], squares=self.squares[place])


def scene_sums(rows: ValueColumns, shape: tuple[int, int, int]) -> SceneSums:
    """Sums by model, metric and scene; `shape` is how many there are of each."""
    codes = (rows.models, rows.metrics, rows.scenes)
    for code, size in zip(codes, shape, strict=True):
        if len(code) and not 0 <= code.min() <= code.max() < size:
            raise ValueError(f"Indices of models, metrics and scenes must lie inside {shape}.")
    keys = (rows.models.astype(np.int64) * shape[1] + rows.metrics) * shape[2] + rows.scenes
    return _sums(keys, np.asarray(rows.values, np.float64), shape)


def named_scene_sums(values: Floats, scenes: Sequence[str]) -> SceneSums:
    """Sums of one model and metric by scene, in the order of the scenes' names.

    >>> named_scene_sums(np.array([0.2, 0.4, 0.9]), ["b", "b", "a"]).counts
    array([1, 2])
    """
    names, keys = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    return _sums(keys, np.asarray(values, np.float64), (len(names),))


def _sums(keys: Indices, values: Floats, shape: tuple[int, ...]) -> SceneSums:
    if not np.isfinite(values).all():
        raise ValueError("Values must be finite numbers; leave out rows without a value.")
    size = int(np.prod(shape))
    counts = np.bincount(keys, minlength=size)
    sums = _sum_by(keys, values, size)
    deviations = values - (sums / np.maximum(counts, 1))[keys]
    np.square(deviations, out=deviations)
    squares = _sum_by(keys, deviations, size)
    return SceneSums(sums=sums.reshape(shape), counts=counts.reshape(shape), squares=squares.reshape(shape))


def _sum_by(keys: Indices, values: Floats, size: int) -> Floats:
    # Without any row numpy gives whole numbers.
    return np.bincount(keys, weights=values, minlength=size).astype(np.float64, copy=False)
