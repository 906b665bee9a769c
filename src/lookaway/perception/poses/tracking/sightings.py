"""What one frame shows: points that can be found again, and edges."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from lookaway.core import Floats, Frame, Mask, Pixels
from lookaway.perception.edges import edges
from lookaway.perception.poses.sift_matches import sift_points
from lookaway.perception.poses.tracking.settings import OutlineSettings


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """Points of one frame and their descriptors, the strongest first, and its outline."""

    frame: int
    """Its index in the video."""
    points: Floats
    """[P, 2] pixels from the middle of the picture."""
    descriptors: Floats
    """[P, 128]"""
    outline: Outline

    @classmethod
    def of(cls, cv2: ModuleType, frame: Frame, most: int, outline_height: float) -> Sighting:
        """At most so many points of a frame."""
        points, descriptors = sift_points(cv2, frame.pixels, most)
        height, width = frame.pixels.shape[:2]
        outline = Outline.of(cv2, frame.pixels, outline_height)
        return cls(frame.index, points - np.array([width, height]) / 2, descriptors, outline)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """A small picture of one frame, whose edges tell whether it shows the place of another where no points match."""

    pixels: Pixels
    """[H, W, 3]"""
    reduction: float
    """Pixels of the frame on one of the small picture."""

    @classmethod
    def of(cls, cv2: ModuleType, pixels: Pixels, small: float) -> Outline:
        """A frame at some such height."""
        height, width = pixels.shape[:2]
        reduction = max(1.0, height / small)
        size = (round(width / reduction), round(height / reduction))
        return cls(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), reduction)

    def agreement(
        self, cv2: ModuleType, later: Outline, motion: Floats, focal: float, settings: OutlineSettings
    ) -> float:
        """The correlation of edges after a motion, at the best of small shifts; 0 where little is in common.

        `motion` [4, 4] is the later camera in the axes of this one, in units of the later one's median depth, at which
        all of the scene is taken to be. The focal length is in pixels of the frame.
        """
        earlier_edges, later_edges = (edges(cv2, outline.pixels, settings.edges) for outline in (self, later))
        height, width = later_edges.shape
        # Rays of the later camera end at a plane of depth 1.
        plane = motion[:3, :3] + motion[:3, 3:] * [[0.0, 0.0, 1.0]]
        lens_1, lens_2 = self._lens(focal), later._lens(focal)
        to_earlier = lens_1 @ plane @ np.linalg.inv(lens_2)
        flags = cv2.WARP_INVERSE_MAP | cv2.INTER_LINEAR
        seen = cv2.warpPerspective(earlier_edges, to_earlier, (width, height), flags=flags)
        shown = cv2.warpPerspective(np.ones_like(earlier_edges), to_earlier, (width, height), flags=flags) > 0.99
        if shown.mean() < settings.min_common:
            return 0.0
        shifts = range(-settings.max_shift, settings.max_shift + 1)
        return max(
            _correlation(*_shifted(seen, shown, later_edges, right, down, settings.max_shift))
            for right in shifts
            for down in shifts
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


def _shifted(ones: Floats, shown: Mask, others: Floats, right: int, down: int, margin: int) -> tuple[Floats, Floats]:
    """Values of two pictures where one is shown, the other moved by some pixels; the margin is left out."""
    height, width = ones.shape
    inner = np.s_[margin : height - margin, margin : width - margin]
    moved = np.s_[margin + down : height - margin + down, margin + right : width - margin + right]
    return ones[inner][shown[inner]], others[moved][shown[inner]]


def _correlation(ones: Floats, others: Floats) -> float:
    if len(ones) == 0:
        return 0.0
    ones, others = ones - ones.mean(), others - others.mean()
    size = float(np.linalg.norm(ones)) * float(np.linalg.norm(others))
    return float(ones @ others) / size if size > 0 else 0.0
