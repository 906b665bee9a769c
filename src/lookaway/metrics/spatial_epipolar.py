"""Whether matched points of a revisited place lie where the camera's own poses put them: epipolar distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Floats
from lookaway.metrics.match_errors import MatchErrors
from lookaway.metrics.two_views import TwoViews, epipolar_distances


@dataclass(frozen=True, slots=True)
class SpatialEpipolar(MatchErrors):
    """Mean symmetric distance of matched points to each other's epipolar line, mapped by exp(-E / scale).

    For each frame pair, E is the mean over its matches of the distance, in pixels of the matching size, between a
    point and the epipolar line of its partner, in both directions. The fundamental matrix comes from the supplied
    poses and intrinsics, never from the matches, so that wrong geometry cannot be fitted away. The value is the mean
    over pairs of exp(-E / `scale_pixels`); the raw value is the mean of E.

    Pure rotation: where the baseline of a pair is below `negligible_baseline` of the median depth there are no
    epipolar lines; the transfer error of the rotation homography is used instead, and the unit says
    `model: homography`.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where nobody says what they turn into what and the frames do not tell; `too_few_matches` where no pair has
    `fewest_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name: ClassVar[str] = "spatial_epipolar"
    version: ClassVar[int] = 1
    model: ClassVar[str] = "epipolar"

    def distances(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
        """[M] error in pixels of each match of a pair that has a baseline."""
        return epipolar_distances(views, points_1, points_2)
