"""Whether matched points of a revisited place meet in one point of space: reprojection distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Floats
from lookaway.metrics.match_errors import MatchErrors
from lookaway.metrics.two_views import TwoViews, reprojection_distances


@dataclass(frozen=True, slots=True)
class SpatialReprojection(MatchErrors):
    """Mean distance between matched points and the projections of their triangulated point, mapped by exp(-E / scale).

    For each frame pair, every match is triangulated linearly from the supplied poses; E is the mean over matches and
    both views of the distance in pixels between the match and the projected point. The value is the mean over pairs of
    exp(-E / `scale_pixels`); the raw value is the mean of E.

    Pure rotation: where the baseline of a pair is below `negligible_baseline` of the median depth nothing can be
    triangulated; the transfer error of the rotation homography is used instead, and the unit says `model: homography`.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where nobody says what they turn into what and the frames do not tell; `too_few_matches` where no pair has
    `fewest_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name: ClassVar[str] = "spatial_reprojection"
    version: ClassVar[int] = 1
    model: ClassVar[str] = "triangulation"

    def distances(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
        """[M] error in pixels of each match of a pair that has a baseline."""
        return reprojection_distances(views, points_1, points_2)
