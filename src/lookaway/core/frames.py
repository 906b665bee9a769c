"""Frames, their times, and requests for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from lookaway.core.features import Floats, Pixels


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame: RGB, rows first, upright."""

    index: int
    time_seconds: float
    pixels: Pixels
    partner: Frame | None = None
    """The frame that it is compared with, if the request names one."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Time of each frame of a video, and its upright size; known without decoding."""

    times_seconds: Floats
    width: int
    height: int

    @property
    def frame_count(self) -> int:
        """Number of frames in the file, counted, not taken from its header."""
        return len(self.times_seconds)

    @property
    def fps(self) -> float | None:
        """Mean frame rate; unknown for a single frame."""
        span = float(self.times_seconds[-1] - self.times_seconds[0])
        return (self.frame_count - 1) / span if span > 0 else None


@dataclass(frozen=True, slots=True)
class Partners:
    """The frame of a video that every requested frame is compared with; indices only increase or only decrease."""

    video: Path
    indices: Mapping[int, int]
    """By the index of the requested frame."""

    def __post_init__(self) -> None:
        order = [self.indices[index] for index in sorted(self.indices)]
        if order not in (sorted(order), sorted(order, reverse=True)):
            raise ValueError("partner indices must be in increasing or decreasing order.")


@dataclass(frozen=True, slots=True)
class FrameRequest:
    """Which frames, and how tall; width follows the aspect ratio, `None` keeps the native size.

    With partners, every frame comes with the one it is compared with, at the same height.
    """

    indices: frozenset[int]
    height: int | None = None
    partners: Partners | None = None


def segment_bounds(frame_count: int, segments: int) -> list[tuple[int, int]]:
    """First frame and one past the last frame of each of equally long segments.

    >>> segment_bounds(10, 3)
    [(0, 3), (3, 7), (7, 10)]
    """
    edges = [round(frame_count * edge / segments) for edge in range(segments + 1)]
    return list(pairwise(edges))
