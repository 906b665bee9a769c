"""After how many frames half of what a model had at the start is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lookaway.core import Estimate
from lookaway.statistics.drift import BinMeans, FrameValues, bin_means, means_over, shared_rollouts


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfLife:
    """A half-life, and what it is the half-life of."""

    frames: float | None
    """Frames since the mark; `None` where the clips end before: it is more than `within`."""
    interval: tuple[float | None, float | None] | None
    """95 % interval; an end that is `None` is more than `within`. One scene alone has none."""
    start: float
    """Mean of the first bin."""
    towards: float
    """The value at which nothing would be left."""
    within: float
    """The frame up to which the curve is known: the mean frame of the last bin that two scenes reach."""


@dataclass(frozen=True, slots=True)
class _Step:
    frame: float
    left: Estimate
    """By how much the rollouts of a bin are still better than half-way from their own start to `towards`."""


def half_life(data: FrameValues, bin_width: int, *, towards: float, higher_is_better: bool) -> HalfLife | None:
    """The first frame at which the mean is half-way from the first bin to `towards`; `None` if it starts no better.

    In every bin, rollouts are held against their own first bin, so that clips that end earlier cannot move it. Between
    bins, which lie at the mean frame of their values, the curve is straight. The ends of the interval are where the two
    ends of the curve's own 95 % band are half-way: it knows of scenes what the band knows. A curve of several scenes
    is followed as far as two of them reach.
    """
    bins = bin_means(data, bin_width)
    sign = 1.0 if higher_is_better else -1.0
    steps = _steps(bins, data.scenes, towards, sign)
    if not steps or steps[0].left.mean <= 0:
        return None
    has_interval = steps[0].left.scenes > 1
    if has_interval:
        steps = [step for step in steps if step.left.scenes > 1]
    frames = [step.frame for step in steps]
    lows = [step.left.low for step in steps if step.left.low is not None]
    highs = [step.left.high for step in steps if step.left.high is not None]
    return HalfLife(
        frames=_first_used_up(frames, [step.left.mean for step in steps]),
        interval=(_first_used_up(frames, lows), _first_used_up(frames, highs)) if has_interval else None,
        start=float(bins[0].means.mean()),
        towards=towards,
        within=frames[-1],
    )


def nothing_left(extent: tuple[float | None, float | None], *, higher_is_better: bool) -> float | None:
    """The value of a metric at which nothing is left, as far as its range tells: its worst end, or 0 on the way there.

    Likenesses may be negative; two things that have nothing in common are at 0.

    >>> nothing_left((0.0, 1.0), higher_is_better=True), nothing_left((-1.0, 1.0), higher_is_better=True)
    (0.0, 0.0)
    >>> nothing_left((0.0, 180.0), higher_is_better=False), nothing_left((0.0, None), higher_is_better=False)
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


def _first_used_up(frames: Sequence[float], left: Sequence[float]) -> float | None:
    """The first frame at which nothing is left of what is left, on straight lines between the given frames."""
    if left[0] <= 0:
        return frames[0]
    for step in range(1, len(frames)):
        before, after = left[step - 1], left[step]
        if after <= 0:
            return frames[step - 1] + before / (before - after) * (frames[step] - frames[step - 1])
    return None
