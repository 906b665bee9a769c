"""What changed as a transparent picture, to be laid over the video at the frame of the return."""

from __future__ import annotations

from typing import Final

import numpy as np

from lookaway.core import Pixels
from lookaway.io.pictures import picture_pixels
from lookaway.perception.revisit.revisit_changes import OUTLINE, PICTURE_GAP

NEAR_OUTLINE: Final = 110
"""How far the colour of an outline may be from its own, after JPEG: in the channel that is furthest off."""
DRAWN: Final = 60
"""By how much a pixel of the return must have changed to be part of an outline."""
DIMMED: Final = (0, 0, 0, 150)
"""What was not compared: red, green, blue and opacity."""
SPECK, HOLE = 5, 9
"""Pixels across of what is removed from, and filled in, the part that was not compared."""


def change_overlay(jpeg: bytes) -> bytes | None:
    """Outlines of what changed, and a shade over what was not compared, as PNG; `None` where the picture is another.

    The picture has first visit, return, and return with the same outlines and shade: what differs between the last two
    was drawn.
    """
    import cv2  # takes a moment to import, and not every command needs it

    try:
        panels = _panels(picture_pixels(jpeg))
    except ValueError:  # the store of a received run may hold anything
        return None
    if panels is None:
        return None
    plain, drawn = panels
    change = cv2.absdiff(plain, drawn).max(axis=2)
    away = cv2.absdiff(drawn, np.broadcast_to(np.array(OUTLINE, np.uint8), drawn.shape).copy()).max(axis=2)
    outline = (change > DRAWN) & (away < NEAR_OUTLINE)
    bright, left = plain.sum(axis=2, dtype=np.int32), drawn.sum(axis=2, dtype=np.int32)
    shade = ((2 * left < bright + 12) & ~outline).astype(np.uint8)
    shade = cv2.morphologyEx(shade, cv2.MORPH_OPEN, np.ones((SPECK, SPECK), np.uint8))
    shade = cv2.morphologyEx(shade, cv2.MORPH_CLOSE, np.ones((HOLE, HOLE), np.uint8))
    laid = np.zeros((*outline.shape, 4), np.uint8)
    laid[shade > 0] = DIMMED
    laid[outline] = (*OUTLINE, 255)
    done, encoded = cv2.imencode(".png", laid[..., [2, 1, 0, 3]])
    return encoded.tobytes() if done else None


def _panels(pixels: Pixels) -> tuple[Pixels, Pixels] | None:
    """The return, and the return with what changed."""
    width, rest = divmod(pixels.shape[1] - 2 * PICTURE_GAP, 3)
    if rest or width < 1:
        return None
    step = width + PICTURE_GAP
    return np.ascontiguousarray(pixels[:, step : step + width]), np.ascontiguousarray(pixels[:, 2 * step :])
