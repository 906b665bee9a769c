"""Cuts what a mask shows out of a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Indices, Mask, Pixels
from lookaway.perception.networks.fits import Colour


@dataclass(frozen=True, slots=True)
class RegionCrop:
    """A square around a mask, with a margin; the thing is in its middle, even at the edge of the frame."""

    margin: float
    background: Colour
    keep_background: bool

    def __call__(self, pixels: Pixels, mask: Mask) -> Pixels:
        """The square [side, side, 3]; the mask may have another size than the frame, and shows at least one pixel."""
        inside = scaled_mask(mask, *pixels.shape[:2])
        (top, bottom), (left, right) = (_ends(places) for places in np.nonzero(inside))
        longer = max(bottom - top, right - left)
        side = round(longer * (1 + 2 * self.margin))
        colour = np.round(np.array(self.background) * 255).astype(np.uint8)
        square = np.tile(colour, (side, side, 1))
        rows, columns = _overlap(top, bottom, side, len(pixels)), _overlap(left, right, side, pixels.shape[1])
        from_frame, to_square = (rows[0], columns[0]), (rows[1], columns[1])
        shown = pixels[from_frame]
        square[to_square] = shown if self.keep_background else np.where(inside[from_frame][..., None], shown, colour)
        return square


def scaled_mask(mask: Mask, height: int, width: int) -> Mask:
    """A mask at another size. A pixel is inside where any part of it was, so that no mask is lost.

    >>> scaled_mask(np.array([[True, False, False, False]]), 2, 2)
    array([[ True, False],
           [ True, False]])
    """
    for axis, length in enumerate((height, width)):
        starts = np.arange(length) * mask.shape[axis] // length
        mask = np.logical_or.reduceat(mask, starts, axis=axis)
    return mask


def _ends(places: Indices) -> tuple[int, int]:
    return int(places.min()), int(places.max()) + 1


def _overlap(start: int, stop: int, side: int, length: int) -> tuple[slice, slice]:
    """Where a square around [start, stop) meets a frame of a length: in the frame, and in the square."""
    first = (start + stop - side) // 2
    low, high = max(0, first), min(length, first + side)
    return slice(low, high), slice(low - first, high - first)
