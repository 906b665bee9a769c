"""What changed as a transparent picture, to be laid over the video at the frame of the return."""

from __future__ import annotations

from typing import Final

import numpy as np

from lookaway.core import Pixels
from lookaway.io.pictures import picture_pixels
from lookaway.perception.revisit.revisit_changes import OUTLINE, PICTURE_GAP

REDDER: Final = 18
"""By how much Cr must have grown where an outline was drawn: JPEG keeps colour at half the size, so thin lines fade."""
LESS_RED: Final = 20
"""By how much red may have fallen there: an outline is as red as can be, and a shade is not."""
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
    red, before = (cv2.cvtColor(panel, cv2.COLOR_RGB2YCrCb)[..., 1].astype(np.int16) for panel in (drawn, plain))
    outline = (red - before > REDDER) & (plain[..., 0] - LESS_RED <= drawn[..., 0].astype(np.int16))
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
