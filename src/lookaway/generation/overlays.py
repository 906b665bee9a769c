"""Finds keys and joysticks that a model has drawn into its pictures: edges that stay while the picture moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from lookaway.core import Floats, Mask, Pixels
from lookaway.generation.adapter import Box, OverlayBoxes
from lookaway.perception.opencv import load_opencv

Overlay: TypeAlias = Literal["none", "found", "unknown"]
EDGE: Final = 60.0
"""Sobel magnitude of an edge."""
SHARE: Final = 0.03
"""Fraction of the boxes that is an edge in every frame: at most 0.011 in clean clips, 0.055 or more with overlays."""
STAYING: Final = 0.2
"""Fraction of the edges of a frame that stay in every frame: at most 0.15 where the camera moves, 0.22 or more in an
overlay, and 0.75 or more around objects that move before a camera that does not."""
MOVING_LEVELS: Final = 2.0
"""Mean change of a picture that moves; edges of one that does not all stay."""


def find_overlay(frames: Sequence[Pixels], overlay: OverlayBoxes) -> Overlay:
    """Whether the known boxes hold an overlay, from about ten frames; unknown where the camera stands still."""
    height, width = frames[0].shape[:2]
    boxes = _scaled(overlay, width, height)
    if boxes is None or not is_moving(frames):
        return "unknown"
    inside = np.zeros((height, width), bool)
    for left, top, box_width, box_height in boxes:
        inside[top : top + box_height, left : left + box_width] = True
    shares = _edge_shares(frames)
    stays = shares >= 1
    if float(stays[inside].mean()) <= SHARE or _staying(shares, stays, inside) <= STAYING:
        return "none"
    return "unknown" if _staying(shares, stays, ~inside) > STAYING else "found"


def _edge_shares(frames: Sequence[Pixels]) -> Floats:
    """[height, width] fraction of the frames in which there is an edge."""
    cv2 = load_opencv()
    found = np.zeros(frames[0].shape[:2])
    for frame in frames:
        grey = cv2.cvtColor(np.ascontiguousarray(frame), cv2.COLOR_RGB2GRAY)
        found += np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1)) > EDGE
    return np.asarray(found / len(frames))


def _staying(shares: Floats, stays: Mask, area: Mask) -> float:
    """How many of the edges of a frame are in every frame."""
    edges = float(shares[area].sum())
    return float(stays[area].sum()) / edges if edges else 0.0


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
