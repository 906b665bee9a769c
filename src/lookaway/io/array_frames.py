"""Frames in memory as a video: they are read in order like those of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import av
import numpy as np
from numpy.typing import NDArray

from lookaway.core import Reason, UserError, VideoError
from lookaway.io.decoding import FrameIndex
from lookaway.io.limits import MAX_ASPECT, MAX_PIXELS, MAX_SIDE_PIXELS

CHANNELS: Final = 3


class ArrayFrames:
    """RGB frames of one clip, at a constant rate."""

    def __init__(self, frames: Any, fps: float) -> None:
        if not 0 < fps < float("inf"):
            raise UserError(f"fps is {fps}, expected a number above 0.")
        self._frames = as_frames(frames)
        self.decoded_pictures = 0
        self.index = FrameIndex(
            np.arange(len(self._frames)) / fps, (), (), np.arange(len(self._frames), dtype=np.int64)
        )
        self.first_picture = self._picture(0)

    def close(self) -> None:
        """Nothing is open."""

    def error(self, reason: Reason, message: str) -> VideoError:
        """A typed error about these frames."""
        return VideoError(reason, f"frames in memory: {message}")

    def pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """The pictures of increasing indices."""
        for index in wanted:
            self.decoded_pictures += 1
            yield index, self._picture(index)

    def _picture(self, index: int) -> av.VideoFrame:
        return av.VideoFrame.from_ndarray(np.ascontiguousarray(self._frames[index]), format="rgb24")


def as_frames(given: Any) -> NDArray[np.uint8]:
    """[frames, height, width, 3] from an array or tensor with channels first, as trainers have them, or last.

    >>> as_frames(np.zeros((4, 3, 8, 12), np.uint8)).shape, as_frames(np.zeros((4, 8, 12, 3), np.uint8)).shape
    ((4, 8, 12, 3), (4, 8, 12, 3))
    """
    frames = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)
    if frames.dtype != np.uint8:
        raise UserError(
            f"frames are {frames.dtype}, expected uint8 from 0 to 255. Floats from 0 to 1: "
            "(255 * frames).round().astype('uint8')."
        )
    if frames.ndim != 4 or not len(frames) or CHANNELS not in (frames.shape[1], frames.shape[-1]):
        raise UserError(
            f"frames have the shape {list(frames.shape)}, expected [frames, 3, height, width], or channels last."
        )
    if frames.shape[1] == CHANNELS:
        frames = frames.transpose(0, 2, 3, 1)
    shorter, longer = sorted(frames.shape[1:3])
    if not shorter or shorter * longer > MAX_PIXELS or longer > min(MAX_SIDE_PIXELS, MAX_ASPECT * shorter):
        raise UserError(
            f"frames have {frames.shape[2]} x {frames.shape[1]} pixels; sides of at most {MAX_SIDE_PIXELS} pixels are "
            f"read, the longer at most {MAX_ASPECT} times the shorter."
        )
    return frames
