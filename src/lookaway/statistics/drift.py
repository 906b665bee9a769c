"""How a measurement changes with the frames since the mark: a curve over many rollouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_mean import scene_means

USUAL_BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameValues:
    """What one metric gave for every frame of many rollouts of one model: columns, for there may be millions."""

    frames: Indices
    """Frames since the mark, from 0."""
    values: Floats
    rollouts: Indices
    """Number of the rollout of each value: a place in `scenes`."""
    scenes: Sequence[str]
    """Scene of each rollout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinMeans:
    """A stretch of frames: each rollout with a value there, once, with the mean of its values and of their frames."""

    number: int
    rollouts: Indices
    means: Floats
    frames: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftBin:
    """A stretch of a curve."""

    first: int
    last: int
    """Frames of the stretch, both ends included, whether or not all of them have values."""
    frame: float
    """Where it lies: the mean frame of its values. Clips that end inside it do not bend the curve."""
    estimate: Estimate
    """Mean over the rollouts that have a value here, with its interval, and how many they are."""
    change: Estimate | None
    """Mean of what each of them changed since its own first stretch: clips that end earlier cannot move it. `None`
    where none of them has a value in the first stretch."""


def usual_bin_width(frames: Indices) -> int:
    """Width with which the longest clip has about twenty bins.

    >>> usual_bin_width(np.arange(250))
    13
    """
    return max(1, math.ceil((int(frames.max(initial=0)) + 1) / USUAL_BINS))


def drift_curve(data: FrameValues, bin_width: int) -> tuple[DriftBin, ...]:
    """The curve, in bins of so many frames; bins without any value are left out.

    Frames of one rollout are not independent: each rollout counts once in a bin, with its mean. Rollouts of one scene
    are not either: intervals are clustered by scene.
    """
    bins = bin_means(data, bin_width)
    estimates = means_over([(own.means, own.rollouts) for own in bins], data.scenes)
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
    """The mean of every rollout in every bin that has a value, whatever the order of the rows."""
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
    """Where the rollouts stand that both bins have, in the one and in the other."""
    _, here, there = np.intersect1d(one.rollouts, other.rollouts, assume_unique=True, return_indices=True)
    return here, there


def means_over(series: Sequence[tuple[Floats, Indices]], scenes: Sequence[str]) -> tuple[Estimate | None, ...]:
    """For each of several bins: the mean of one value for each of some rollouts, by scene; `None` of none."""
    return scene_means([(values, [scenes[number] for number in rollouts.tolist()]) for values, rollouts in series])


def _change(own: BinMeans, start: BinMeans) -> tuple[Floats, Indices]:
    here, there = shared_rollouts(own, start)
    return own.means[here] - start.means[there], own.rollouts[here]
