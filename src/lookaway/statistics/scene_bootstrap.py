"""Intervals by drawing scenes anew, all draws of all numbers in one matrix product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices

DRAWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Two ends."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """An interval for each of several numbers, and how to draw the same again."""

    intervals: tuple[Interval | None, ...]
    """`None` where a number rests on one scene alone, or does not exist without one of its scenes."""
    draws: int
    seed: int


def scene_weights(scenes: int, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """How often each scene was drawn, [draws, scenes]: as many as there are, with replacement."""
    picks = np.random.default_rng(seed).integers(scenes, size=(draws, scenes))
    picks += np.arange(draws)[:, None] * scenes
    return np.bincount(picks.ravel(), minlength=draws * scenes).reshape(draws, scenes).astype(np.float64)


def scene_bootstrap(
    totals: Floats, combine: Callable[[Floats], Floats], *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> Bootstrap:
    """Intervals of numbers that are made of totals over scenes.

    `totals` are [parts, numbers, scenes]; `combine` makes numbers of the parts, whatever axes follow the first, e.g.
    `lambda parts: parts[0] / parts[1]` a mean of sums and counts. Intervals are bias-corrected and accelerated (BCa);
    as they rest on G scenes, they are widened from the normal distribution to Student's t with G-1 degrees of freedom.
    """
    parts, numbers, scenes = totals.shape
    weights = scene_weights(scenes, draws=draws, seed=seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = totals.sum(axis=-1)
        found = combine(whole)
        drawn = combine((totals.reshape(-1, scenes) @ weights.T).reshape(parts, numbers, draws))
        without = combine(whole[:, :, None] - totals)
    present = np.any(totals != 0, axis=0)
    supports = np.count_nonzero(present, axis=-1)
    exists = np.isfinite(found) & np.isfinite(drawn).all(-1) & np.isfinite(without).all(-1) & (supports > 1)
    ends = _accelerated(found[exists], drawn[exists], without[exists], supports[exists], level)
    intervals: list[Interval | None] = [None] * numbers
    for place, low, high in zip(np.flatnonzero(exists).tolist(), *ends.tolist(), strict=True):
        intervals[place] = Interval(low=low, high=high)
    return Bootstrap(intervals=tuple(intervals), draws=draws, seed=seed)


def _accelerated(found: Floats, drawn: Floats, without: Floats, supports: Indices, level: float) -> Floats:
    """Both ends, [2, numbers], from draws and from the numbers without each scene, [numbers, draws or scenes]."""
    from scipy.special import ndtr, ndtri, stdtrit

    draws = drawn.shape[-1]
    below = ((drawn < found[:, None]).sum(-1) + (drawn <= found[:, None]).sum(-1)) / 2
    bias = ndtri(np.clip(below, 0.5, draws - 0.5) / draws)
    pulls = without.mean(-1, keepdims=True) - without
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
