"""Intervals by drawing scenes anew, all draws of all numbers in one matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices

DRAWS = 2_000
SEED = 0
"""Of every draw behind a table: the same rows give the same intervals, whoever asks."""
SCENES_AT_ONCE = 5_000
TICKETS = 2**16
"""So many of them stand for one draw of a scene, for two, and so on: far quicker than asking for Poisson numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Two ends."""

    low: float
    high: float


def scene_weights(scenes: int, *, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """How often each scene was drawn, [draws, scenes]: as many as there are, with replacement."""
    picks = np.random.default_rng(seed).integers(scenes, size=(draws, scenes))
    picks += np.arange(draws)[:, None] * scenes
    return np.bincount(picks.ravel(), minlength=draws * scenes).reshape(draws, scenes).astype(np.float64)


def free_weights(scenes: int, *, draws: int = DRAWS, seed: int = SEED) -> Iterator[Floats]:
    """How often each scene was drawn, each by itself: a Poisson number of mean 1; parts of [scenes, draws].

    The numbers of a scene do not depend on how many follow it. So cells of different scenes share one product, and
    none of them depends on the others. Parts are for memory.
    """
    random, times = np.random.default_rng(seed), _times_drawn()
    for start in range(0, scenes, SCENES_AT_ONCE):
        tickets = random.integers(TICKETS, size=(min(SCENES_AT_ONCE, scenes - start), draws), dtype=np.uint16)
        yield times[tickets]


@cache
def _times_drawn() -> Floats:
    """What each ticket stands for."""
    from scipy.special import pdtr

    shares = (np.arange(TICKETS) + 0.5) / TICKETS
    return np.searchsorted(pdtr(np.arange(10), 1.0), shares).astype(np.float64)


def scene_bootstrap(
    totals: Floats, combine: Callable[[Floats], Floats], weights: Iterable[Floats], *, level: float = 0.95
) -> tuple[Interval | None, ...]:
    """Intervals of numbers that are made of totals over scenes; `None` where one does not exist without some scene.

    `totals` are [parts, numbers, scenes], and those of a scene that a number does not have are 0; `combine` makes
    numbers of the parts, whatever axes follow the first, e.g. `lambda parts: parts[0] / parts[1]` a mean of sums and
    counts. `weights` say how often each scene was drawn, [scenes, draws], in one part or several. Intervals are
    bias-corrected and accelerated (BCa); as they rest on G scenes, they are widened from the normal distribution to
    Student's t with G-1 degrees of freedom.
    """
    parts, numbers, scenes = totals.shape
    redrawn = _redrawn(totals.reshape(-1, scenes), weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = totals.sum(axis=-1)
        found = combine(whole)
        drawn = combine(redrawn.reshape(parts, numbers, -1))
        without = combine(whole[:, :, None] - totals)
    present = np.any(totals != 0, axis=0)
    exists = np.isfinite(found) & np.isfinite(drawn).all(-1) & np.isfinite(without).all(-1) & (present.sum(-1) > 1)
    present = present[exists]
    ends = _accelerated(found[exists], drawn[exists], _pulls(without[exists], present), present.sum(-1), level)
    intervals: list[Interval | None] = [None] * numbers
    for place, low, high in zip(np.flatnonzero(exists).tolist(), *ends.tolist(), strict=True):
        intervals[place] = Interval(low=low, high=high)
    return tuple(intervals)


def _redrawn(totals: Floats, weights: Iterable[Floats]) -> Floats:
    """The totals of every draw, [totals, draws]."""
    start, products = 0, []
    for part in weights:
        products.append(totals[:, start : start + len(part)] @ part)
        start += len(part)
    if start != totals.shape[-1]:
        raise ValueError(f"Every scene has its weights, found {start} of {totals.shape[-1]}.")
    return np.asarray(sum(products[1:], products[0]))


def _pulls(without: Floats, present: NDArray[np.bool_]) -> Floats:
    """How far each scene pulls a number, from the numbers without it; a scene that it does not have pulls nothing."""
    usual = np.sum(without, axis=-1, where=present) / present.sum(-1)
    return np.where(present, usual[:, None] - without, 0.0)


def _accelerated(found: Floats, drawn: Floats, pulls: Floats, supports: Indices, level: float) -> Floats:
    """Both ends, [2, numbers], from draws and from the pull of each scene, [numbers, draws or scenes]."""
    from scipy.special import ndtr, ndtri, stdtrit

    draws = drawn.shape[-1]
    # Sums of the same numbers in another order differ in their last digits and must count as the same.
    rounding = 1e-12 * np.abs(drawn).max(-1, keepdims=True)
    apart = drawn - found[:, None]
    below = ((apart < -rounding).sum(-1) + (apart <= rounding).sum(-1)) / 2
    bias = ndtri(np.clip(below, 0.5, draws - 0.5) / draws)
    spread = np.sum(pulls**2, axis=-1) ** 1.5
    acceleration = np.divide(np.sum(pulls**3, axis=-1), 6 * spread, out=np.zeros_like(spread), where=spread > 0)
    tail = stdtrit(supports - 1, (1 + level) / 2) * np.sqrt(supports / (supports - 1))
    shares = []
    for reach in (-tail, tail):
        moved = bias + reach
        # Far tails of a skewed number leave the range of the formula; the last draw is then the end.
        room = np.maximum(1 - acceleration * moved, 0.05)
        shares.append(ndtr(bias + moved / room))
    return _quantiles(np.sort(drawn, axis=-1), np.array(shares))


def _quantiles(ordered: Floats, shares: Floats) -> Floats:
    """Quantiles of each row of sorted numbers, [rows, draws], at its own shares, [ends, rows]."""
    places = shares * (ordered.shape[-1] - 1)
    lower = np.floor(places).astype(np.int64)
    upper = np.minimum(lower + 1, ordered.shape[-1] - 1)
    rows = np.arange(len(ordered))
    left: Floats = ordered[rows, lower]
    ends: Floats = left + (places - lower) * (ordered[rows, upper] - left)
    return ends


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """One value of one rollout in each row, in any order: columns, for there may be millions."""

    models: Indices
    metrics: Indices
    scenes: Indices
    """Numbers from 0 of the model, metric and scene of each value."""
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSums:
    """What is known of every scene; scenes are the last axis of all arrays, and 0 values in one are no value there."""

    sums: Floats
    counts: Indices
    squares: Floats
    """Sum of squared differences from the mean of the scene."""

    @property
    def scenes(self) -> Indices:
        """How many scenes have a value."""
        scenes: Indices = np.count_nonzero(self.counts, axis=-1)
        return scenes

    def of(self, *place: int | slice | Indices) -> SceneSums:
        """A part along the axes before the scenes: `of(slice(None), 3)` is one metric of all models."""
        return SceneSums(sums=self.sums[place], counts=self.counts[place], squares=self.squares[place])


def scene_sums(rows: ValueColumns, shape: tuple[int, int, int]) -> SceneSums:
    """Sums by model, metric and scene, of which there are as many as `shape` says."""
    codes = (rows.models, rows.metrics, rows.scenes)
    for code, size in zip(codes, shape, strict=True):
        if len(code) and not 0 <= code.min() <= code.max() < size:
            raise ValueError(f"Numbers of models, metrics and scenes must lie inside {shape}.")
    keys = (rows.models.astype(np.int64) * shape[1] + rows.metrics) * shape[2] + rows.scenes
    return _sums(keys, np.asarray(rows.values, np.float64), shape)


def named_scene_sums(values: Floats, scenes: Sequence[str]) -> SceneSums:
    """Sums of one model and metric by the names of scenes, in the order of the names.

    >>> named_scene_sums(np.array([0.2, 0.4, 0.9]), ["b", "b", "a"]).counts
    array([1, 2])
    """
    names, keys = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    return _sums(keys, np.asarray(values, np.float64), (len(names),))


def _sums(keys: Indices, values: Floats, shape: tuple[int, ...]) -> SceneSums:
    if not np.isfinite(values).all():
        raise ValueError("Values must be finite numbers; what has no value has no row.")
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
