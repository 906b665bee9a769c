"""Small pictures, whose edges tell whether two frames show one place where no points match."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from lookaway.core import Floats, Mask, Pixels
from lookaway.perception.edges import edges

HEIGHT = 96
SURROUNDINGS = 8.0
"""Pixels around an edge that it is compared with."""
MAX_SHIFT = 2
"""Pixels by which two outlines may be off each other."""
MIN_COMMON = 0.2
"""Part of the picture that two outlines must have in common."""


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A small picture of one frame."""

    pixels: Pixels
    """[H, W, 3]"""
    reduction: float
    """Pixels of the frame on one of the small picture."""

    @classmethod
    def of(cls, cv2: ModuleType, pixels: Pixels) -> Outline:
        """A frame at a height of some 96 pixels."""
        height, width = pixels.shape[:2]
        reduction = max(1.0, height / HEIGHT)
        size = (round(width / reduction), round(height / reduction))
        return cls(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), reduction)

    def agreement(self, cv2: ModuleType, later: Outline, motion: Floats, focal: float) -> float:
        """The correlation of edges after a motion, at the best of small shifts; 0 where little is in common.

        `motion` [4, 4] is the later camera in the axes of this one, in units of the later one's median depth, at which
        all of the scene is taken to be. The focal length is in pixels of the frame.
        """
        earlier_edges, later_edges = (edges(cv2, outline.pixels, SURROUNDINGS) for outline in (self, later))
        height, width = later_edges.shape
        # Rays of the later camera end at a plane of depth 1.
        plane = motion[:3, :3] + motion[:3, 3:] * [[0.0, 0.0, 1.0]]
        lens_1, lens_2 = self._lens(focal), later._lens(focal)
        to_earlier = lens_1 @ plane @ np.linalg.inv(lens_2)
        flags = cv2.WARP_INVERSE_MAP | cv2.INTER_LINEAR
        seen = cv2.warpPerspective(earlier_edges, to_earlier, (width, height), flags=flags)
        shown = cv2.warpPerspective(np.ones_like(earlier_edges), to_earlier, (width, height), flags=flags) > 0.99
        if shown.mean() < MIN_COMMON:
            return 0.0
        return max(
            _correlation(*_shifted(seen, shown, later_edges, right, down))
            for right in range(-MAX_SHIFT, MAX_SHIFT + 1)
            for down in range(-MAX_SHIFT, MAX_SHIFT + 1)
        )

    @property
    def width(self) -> float:
        """Width of the frame."""
        return float(self.pixels.shape[1] * self.reduction)

    def _lens(self, focal: float) -> Floats:
        """[3, 3] from rays to indices of pixels."""
        height, width = self.pixels.shape[:2]
        scaled = focal / self.reduction
        return np.array([[scaled, 0, (width - 1) / 2], [0, scaled, (height - 1) / 2], [0, 0, 1]])


def _shifted(ones: Floats, shown: Mask, others: Floats, right: int, down: int) -> tuple[Floats, Floats]:
    """Values of two pictures where one is shown, the other moved by some pixels; the margin is left out."""
    height, width = ones.shape
    inner = np.s_[MAX_SHIFT : height - MAX_SHIFT, MAX_SHIFT : width - MAX_SHIFT]
    moved = np.s_[MAX_SHIFT + down : height - MAX_SHIFT + down, MAX_SHIFT + right : width - MAX_SHIFT + right]
    return ones[inner][shown[inner]], others[moved][shown[inner]]


def _correlation(ones: Floats, others: Floats) -> float:
    if len(ones) == 0:
        return 0.0
    ones, others = ones - ones.mean(), others - others.mean()
    size = float(np.linalg.norm(ones)) * float(np.linalg.norm(others))
    return float(ones @ others) / size if size > 0 else 0.0
