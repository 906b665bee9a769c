"""Whether matched points of a revisited place meet in one point of space: reprojection distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.match_errors import MatchErrors
from lookaway.metrics.two_views import reprojection_distances


@dataclass(frozen=True, slots=True)
class SpatialReprojection:
    """Mean distance between matched points and the projections of their triangulated point, mapped by exp(-E / scale).

    For each frame pair, every match is triangulated linearly from the supplied poses; E is the mean over matches and
    both views of the distance in pixels between the match and the projected point. The value is the mean over pairs of
    exp(-E / `scale_pixels`); the raw value is the mean of E.

    Pure rotation: where the baseline of a pair is below `negligible_baseline` of the median depth nothing can be
    triangulated; the transfer error of the rotation homography is used instead, and the unit says `model: homography`.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `too_few_matches` where
    no pair has `fewest_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name: ClassVar[str] = "spatial_reprojection"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "pixels"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("poses", "matches")
    uses: ClassVar[tuple[str, ...]] = ()

    scale_pixels: Annotated[float, "error at which a pair's score is 1/e"] = 1.0
    fewest_matches: Annotated[int, "pairs with fewer matches are left out and listed"] = 8
    negligible_baseline: Annotated[float, "baseline, as a part of the median depth, below which a pair is a turn"] = (
        1e-3
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        errors = MatchErrors(
            model="triangulation",
            distances=reprojection_distances,
            scale_pixels=self.scale_pixels,
            fewest_matches=self.fewest_matches,
            negligible_baseline=self.negligible_baseline,
        )
        return errors.measure(features["poses"], features["matches"])
