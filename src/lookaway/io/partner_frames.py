"""Pairs every frame with the one it is compared with, in the same or another video."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from types import TracebackType
from typing import Self

from lookaway.core import Frame, FrameRequest, Partners, VideoError
from lookaway.io.video import Video

BLOCK_BYTES = 128 * 1024 * 1024
"""Buffer for a video that is read backwards: about 20 frames of 1080p."""


class PartnerFrames:
    """The partners of all requested frames, read on demand. Use as a context manager.

    One frame is in memory if partners are in order, a block of frames if they go backwards.
    """

    def __init__(self, requests: Sequence[FrameRequest]) -> None:
        self._heights: list[tuple[Partners, set[int | None]]] = []
        self._readings: dict[int, _Reading] = {}
        for request in requests:
            if request.partners is not None:
                self._heights[self._index_of(request.partners)][1].add(request.height)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reading in self._readings.values():
            reading.video.__exit__(kind, error, trace)

    @property
    def decoded_pictures(self) -> int:
        """Number of pictures decoded so far."""
        return sum(reading.video.decoded_pictures for reading in self._readings.values())

    def join(self, request: FrameRequest, frame: Frame) -> Frame:
        """A requested frame with its partner, if the request names one."""
        if request.partners is None:
            return frame
        try:
            reading = self._reading(self._index_of(request.partners))
            return replace(frame, partner=reading.frame(request.partners.indices[frame.index], request.height))
        except VideoError as error:
            raise VideoError(error.reason, f"the video to compare with: {error}") from error

    def _index_of(self, partners: Partners) -> int:
        """Requests with equal partners share one reader."""
        for index, (known, _) in enumerate(self._heights):
            if known == partners:
                return index
        self._heights.append((partners, set()))
        return len(self._heights) - 1

    def _reading(self, index: int) -> _Reading:
        if index not in self._readings:
            partners, heights = self._heights[index]
            self._readings[index] = _Reading(Video(partners.video), partners, tuple(heights))
        return self._readings[index]


@dataclass(slots=True)
class _Reading:
    """One video, read in the order in which its frames are needed."""

    video: Video
    partners: Partners
    heights: tuple[int | None, ...]
    _index: int = -1
    _frames: dict[int | None, Frame] = field(default_factory=dict)
    _coming: Iterator[tuple[int, dict[int | None, Frame]]] = field(init=False)

    def __post_init__(self) -> None:
        order = list(dict.fromkeys(self.partners.indices[index] for index in sorted(self.partners.indices)))
        is_backwards = len(order) > 1 and order[1] < order[0]
        self._coming = self._backwards(order) if is_backwards else self._forwards(order)

    def frame(self, index: int, height: int | None) -> Frame:
        while index != self._index:
            self._index, self._frames = next(self._coming)
        return self._frames[height]

    def _forwards(self, indices: Sequence[int]) -> Iterator[tuple[int, dict[int | None, Frame]]]:
        requests = [FrameRequest(frozenset(indices), height) for height in self.heights]
        for index, found in groupby(self.video.frames(requests), key=lambda pair: pair[1].index):
            yield index, {self.heights[position]: frame for position, frame in found}

    def _backwards(self, indices: Sequence[int]) -> Iterator[tuple[int, dict[int | None, Frame]]]:
        timeline = self.video.timeline
        sizes = (3 * height**2 * timeline.width / timeline.height for height in self._pixel_heights())
        length = max(1, int(BLOCK_BYTES / sum(sizes)))
        for start in range(0, len(indices), length):
            block = list(self._forwards(indices[start : start + length]))
            while block:
                yield block.pop()

    def _pixel_heights(self) -> Iterator[int]:
        return (self.video.timeline.height if height is None else height for height in self.heights)
