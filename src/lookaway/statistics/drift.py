"""Drift: how a metric changes with the frames since the mark, and its half-life."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.intervals import UNBOUNDED, Range, scene_means
from lookaway.statistics.scene_bootstrap import MIN_SCENES

DEFAULT_BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameValues:
    """Values of one metric for every frame of many rollouts of one model: columns, since there may be millions."""

    frames: Indices
    """Frames since the mark, from 0."""
    values: Floats
    rollouts: Indices
    """Index of the rollout of each value, in `scenes`."""
    scenes: Sequence[str]
    """Scene of each rollout."""
    range: Range = UNBOUNDED
    """Least and greatest possible value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinMeans:
    """A bin of frames: for each rollout with values in it, their mean and the mean of their frames."""

    number: int
    rollouts: Indices
    means: Floats
    frames: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftBin:
    """A point of the curve."""

    first: int
    last: int
    """Frames of the bin, both ends included."""
    frame: float
    """The mean frame of its values, so that clips that end inside it do not bend the curve."""
    estimate: Estimate
    """Mean over the rollouts that have a value here."""
    change: Estimate | None
    """Mean change of each rollout since its own first bin, so that clips that end earlier cannot move it. `None` where
    none of them has a value in the first bin."""


def default_bin_width(frames: Indices) -> int:
    """The width that gives the longest clip about twenty bins.

    >>> default_bin_width(np.arange(250))
    13
    """
    return max(1, math.ceil((int(frames.max(initial=0)) + 1) / DEFAULT_BINS))


def drift_curve(data: FrameValues, bin_width: int) -> tuple[DriftBin, ...]:
    """The curve, in bins of `bin_width` frames; bins without values are left out.

    Each rollout counts once in a bin, with its mean; intervals are clustered by scene.
    """
    bins = bin_means(data, bin_width)
    estimates = means_over([(own.means, own.rollouts) for own in bins], data.scenes, data.range)
    changes = means_over([_change(own, bins[0]) for own in bins], data.scenes)
    return tuple(
        DriftBin(
            first=own.number * bin_width,
            last=(own.number + 1) * bin_width - 1,
            frame=float(own.frames.mean()),
            estimate=estimate,
            change=change,
        )
        for own, estimate, change in zip(bins, estimates, changes, strict=True)
        if estimate
    )


def bin_means(data: FrameValues, bin_width: int) -> list[BinMeans]:
    """The mean of every rollout in every bin that has values, whatever the order of the rows."""
    if bin_width < 1:
        raise ValueError(f"A bin is at least one frame wide, found {bin_width}.")
    if not len(data.values):
        return []
    bins = data.frames // bin_width
    keys = bins * len(data.scenes) + data.rollouts
    order = np.lexsort((data.frames, keys))
    cells, starts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    means = np.add.reduceat(np.asarray(data.values, np.float64)[order], starts) / counts
    frames = np.add.reduceat(data.frames[order], starts) / counts
    numbers, edges = np.unique(cells // len(data.scenes), return_index=True)
    spans = zip(numbers.tolist(), edges.tolist(), [*edges.tolist()[1:], len(cells)], strict=True)
    return [
        BinMeans(number=number, rollouts=cells[a:b] % len(data.scenes), means=means[a:b], frames=frames[a:b])
        for number, a, b in spans
    ]


def shared_rollouts(one: BinMeans, other: BinMeans) -> tuple[Indices, Indices]:
    """Indices, in either bin, of the rollouts that both have."""
    _, here, there = np.intersect1d(one.rollouts, other.rollouts, assume_unique=True, return_indices=True)
    return here, there


def means_over(
    series: Sequence[tuple[Floats, Indices]], scenes: Sequence[str], value_range: Range = UNBOUNDED
) -> tuple[Estimate | None, ...]:
    """The mean over rollouts in each bin, clustered by scene; `None` where there are none."""
    named = [(values, [scenes[number] for number in rollouts.tolist()]) for values, rollouts in series]
    return scene_means(named, value_range)


def _change(own: BinMeans, start: BinMeans) -> tuple[Floats, Indices]:
    here, there = shared_rollouts(own, start)
    return own.means[here] - start.means[there], own.rollouts[here]


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLife:
    """A half-life, and the curve it belongs to."""

    frames: float | None
    """Frames since the mark; `None` where it is more than `within`."""
    interval: tuple[float | None, float | None] | None
    """95 % interval; an end of `None` is more than `within`. Fewer than 5 scenes have no interval."""
    start: float
    """Mean of the first bin."""
    towards: float
    """The value at which everything is lost."""
    within: float
    """The frame up to which the curve is known: the mean frame of the last bin with enough scenes."""


@dataclass(frozen=True, slots=True)
class _Step:
    frame: float
    left: Estimate
    """How much better the rollouts of a bin are than half-way from their own start to `towards`."""


def half_life(data: FrameValues, bin_width: int, *, towards: float, higher_is_better: bool) -> HalfLife | None:
    """The first frame at which the mean is half-way from the first bin to `towards`; `None` if it starts no better.

    Rollouts are compared with their own first bin, so that clips that end earlier cannot move it. Between bins, which
    lie at the mean frame of their values, the curve is linear. The ends of the interval are where the ends of the
    curve's 95 % band are half-way. A curve of 5 scenes or more is followed as long as 5 of them have values, one of
    2 to 4 scenes as long as 2 have.
    """
    bins = bin_means(data, bin_width)
    sign = 1.0 if higher_is_better else -1.0
    steps = _steps(bins, data.scenes, towards, sign)
    if not steps or steps[0].left.mean <= 0:
        return None
    has_interval = steps[0].left.scenes >= MIN_SCENES
    enough = MIN_SCENES if has_interval else min(2, steps[0].left.scenes)
    steps = [step for step in steps if step.left.scenes >= enough]
    frames = [step.frame for step in steps]
    # Scenes that are all equal, as at the mark, have no interval.
    lows = [step.left.mean if step.left.low is None else step.left.low for step in steps]
    highs = [step.left.mean if step.left.high is None else step.left.high for step in steps]
    return HalfLife(
        frames=_first_at_zero(frames, [step.left.mean for step in steps]),
        interval=(_first_at_zero(frames, lows), _first_at_zero(frames, highs)) if has_interval else None,
        start=float(bins[0].means.mean()),
        towards=towards,
        within=frames[-1],
    )


def worst_value(extent: tuple[float | None, float | None], *, higher_is_better: bool) -> float | None:
    """The worst value of a metric by its range; `None` where it has none.

    For a similarity that may be negative it is 0: two things that have nothing in common.

    >>> worst_value((0.0, 1.0), higher_is_better=True), worst_value((-1.0, 1.0), higher_is_better=True)
    (0.0, 0.0)
    >>> worst_value((0.0, 180.0), higher_is_better=False), worst_value((0.0, None), higher_is_better=False)
    (180.0, None)
    """
    low, high = extent
    if not higher_is_better:
        return high
    return 0.0 if low is not None and low < 0 and (high is None or high > 0) else low


def _steps(bins: Sequence[BinMeans], scenes: Sequence[str], towards: float, sign: float) -> list[_Step]:
    frames, left = [], []
    for own in bins:
        here, there = shared_rollouts(own, bins[0])
        frames.append(own.frames[here])
        left.append((sign * (own.means[here] - (bins[0].means[there] + towards) / 2), own.rollouts[here]))
    means = means_over(left, scenes)
    return [_Step(float(own.mean()), mean) for own, mean in zip(frames, means, strict=True) if mean]


def _first_at_zero(frames: Sequence[float], left: Sequence[float]) -> float | None:
    """The first frame at which the curve, linear between the given frames, reaches 0."""
    if left[0] <= 0:
        return frames[0]
    for step in range(1, len(frames)):
        before, after = left[step - 1], left[step]
        if after <= 0:
            return frames[step - 1] + before / (before - after) * (frames[step] - frames[step - 1])
    return None
