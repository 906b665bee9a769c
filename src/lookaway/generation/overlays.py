"""Finds keys and joysticks that a model has drawn into its pictures: edges that stay while the picture moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from lookaway.core import Pixels
from lookaway.generation.adapter import Box, OverlayBoxes
from lookaway.perception.opencv import load_opencv

Overlay: TypeAlias = Literal["none", "found", "unknown"]
EDGE: Final = 60.0
"""Sobel magnitude of an edge."""
SHARE: Final = 0.03
"""Fraction of the boxes that is an edge in every frame: at most 0.011 in clean clips, 0.055 or more with overlays."""
MOVING_LEVELS: Final = 2.0
"""Mean change of a picture that moves; edges of one that does not all stay."""


def find_overlay(frames: Sequence[Pixels], overlay: OverlayBoxes) -> Overlay:
    """Whether the known boxes hold an overlay, from about ten frames of a clip; unknown where nothing moves."""
    height, width = frames[0].shape[:2]
    boxes = _scaled(overlay, width, height)
    if boxes is None or not is_moving(frames):
        return "unknown"
    inside = np.zeros((height, width), bool)
    for left, top, box_width, box_height in boxes:
        inside[top : top + box_height, left : left + box_width] = True
    return "found" if float(persistent_edges(frames)[inside].mean()) > SHARE else "none"


def persistent_edges(frames: Sequence[Pixels]) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """[height, width] where there is an edge in every frame."""
    cv2 = load_opencv()
    least: np.ndarray[tuple[int, int], np.dtype[np.float32]] | None = None
    for frame in frames:
        grey = cv2.cvtColor(np.ascontiguousarray(frame), cv2.COLOR_RGB2GRAY)
        found = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
        least = found if least is None else np.minimum(least, found)
    if least is None:
        raise ValueError("there are no frames.")
    return np.asarray(least > EDGE)


def is_moving(frames: Sequence[Pixels]) -> bool:
    """Whether some frame differs from the first."""
    first = frames[0].astype(np.int16)
    return any(float(np.abs(frame.astype(np.int16) - first).mean()) > MOVING_LEVELS for frame in frames[1:])


def _scaled(overlay: OverlayBoxes, width: int, height: int) -> list[Box] | None:
    """The boxes at a size; `None` where they are in pixels of another one."""
    if (width, height) == (overlay.width, overlay.height):
        return list(overlay.boxes)
    if not overlay.is_proportional:
        return None
    x, y = width / overlay.width, height / overlay.height
    return [(round(a * x), round(b * y), round(c * x), round(d * y)) for a, b, c, d in overlay.boxes]
