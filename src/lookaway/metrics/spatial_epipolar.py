"""Whether matched points of a revisited place lie where the camera's own poses put them: epipolar distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.match_errors import MatchErrors
from lookaway.metrics.two_views import epipolar_distances


@dataclass(frozen=True, slots=True)
class SpatialEpipolar:
    """Mean symmetric distance of matched points to each other's epipolar line, mapped by exp(-E / scale).

    For each frame pair, E is the mean over its matches of the distance, in pixels of the matching size, between a
    point and the epipolar line of its partner, in both directions. The fundamental matrix comes from the supplied
    poses and intrinsics, never from the matches, so that wrong geometry cannot be fitted away. The value is the mean
    over pairs of exp(-E / `scale_pixels`); the raw value is the mean of E.

    Pure rotation: where the baseline of a pair is below `negligible_baseline` of the median depth there are no
    epipolar lines; the transfer error of the rotation homography is used instead, and the unit says
    `model: homography`.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `too_few_matches` where
    no pair has `fewest_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name: ClassVar[str] = "spatial_epipolar"
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
            model="epipolar",
            distances=epipolar_distances,
            scale_pixels=self.scale_pixels,
            fewest_matches=self.fewest_matches,
            negligible_baseline=self.negligible_baseline,
        )
        return errors.measure(features["poses"], features["matches"])
