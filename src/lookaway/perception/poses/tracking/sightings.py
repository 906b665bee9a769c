"""What one frame shows: points that can be found again, and edges."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from lookaway.core import Floats, Frame
from lookaway.perception.poses.sift_matches import sift_points
from lookaway.perception.poses.tracking.outlines import Outline


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
