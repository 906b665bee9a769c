"""A picture of one size for videos of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Pixels, Reason, Timeline, Unmeasurable
from lookaway.perception.opencv import load_opencv

Picture: TypeAlias = NDArray[Any]
"""[height, width, 3] of RGB from 0 to 255: bytes as decoded, real numbers where it was scaled."""
WAITING_BYTES = 64 * 1024 * 1024
"""What frames may take that wait for a network."""
MOST_CUT_OFF = 8
"""A picture of which less than one part in so many would be left is not put on a canvas."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """A size that every frame is brought to: scaled until it covers the canvas, then the middle is kept.

    Pixels are interpolated between their neighbours alone, without a filter against aliasing, and not rounded. Frames
    of another shape than the canvas lose their margins.
    """

    height: Annotated[int, "rows"]
    width: Annotated[int, "columns"]

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a canvas has rows and columns, found {self.height} x {self.width}.")

    def cover(self, pixels: Pixels) -> Floats:
        """One picture on the canvas: float32 [height, width, 3] from 0 to 255."""
        height, width = self._scaled(*pixels.shape[:2])
        picture = pixels.astype(np.float32)
        if pixels.shape[:2] != (height, width):
            cv2 = load_opencv()
            picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)
        top, left = round((height - self.height) / 2), round((width - self.width) / 2)
        return np.ascontiguousarray(picture[top : top + self.height, left : left + self.width])

    def frames_at_once(self, timeline: Timeline) -> int:
        """How many frames of a video may wait for a network, as decoded, on the canvas and side by side in a batch."""
        decoded, real = 3 * timeline.width * timeline.height, 4 * 3 * self.height * self.width
        return max(1, WAITING_BYTES // (decoded + 2 * real))

    def _scaled(self, height: int, width: int) -> tuple[int, int]:
        scale = max(self.height / height, self.width / width)
        scaled = round(height * scale), round(width * scale)
        if scaled[0] * scaled[1] > MOST_CUT_OFF * self.height * self.width:
            raise Unmeasurable(
                Reason.INVALID_INPUT,
                f"frames of {width} x {height} would lose more than {MOST_CUT_OFF - 1} parts in {MOST_CUT_OFF} on a "
                f"canvas of {self.width} x {self.height}. Give videos of about its shape.",
            )
        return scaled


def shown(pictures: Sequence[Pixels], canvas: Canvas | None) -> Sequence[Picture]:
    """Pictures on a canvas; as they are without one."""
    return pictures if canvas is None else [canvas.cover(picture) for picture in pictures]
