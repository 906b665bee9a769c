"""The spatial metrics: two-view errors over all matched pairs of a rollout, mapped to a score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Floats,
    Json,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
)
from lookaway.metrics.two_views import TwoViews, epipolar_distances, reprojection_distances, transfer_distances


def matched_points(matches: Feature) -> Iterator[tuple[int, int, Floats, Floats]]:
    """The two frames of every pair, and the matched points [M, 2] in each of them."""
    bounds = matches["offsets"]
    for number, (first, second) in enumerate(matches["pairs"].tolist()):
        span = slice(int(bounds[number]), int(bounds[number + 1]))
        yield first, second, matches["points_1"][span], matches["points_2"][span]


def describe_pairs(matches: Feature, units: Sequence[Unit]) -> dict[str, Json]:
    """The rule that chose the pairs, how many later frames they have, and how many pairs have a score."""
    return {
        "pairs": matches.detail.get("rule"),
        "pairs_scored": sum(isinstance(unit.outcome, Score) for unit in units),
        "pairs_asked": len(units),
        "partner_frames": len(np.unique(matches["pairs"][:, 1])),
    }


@dataclass(frozen=True, slots=True)
class MatchErrors(MetricBase):
    """Mean error in pixels over the matches of each pair; exp(-error / scale) averaged over pairs."""

    raw_unit = "pixels"
    needs = ("poses", "matches")
    model: ClassVar[str]
    """Name, in the units, of the error of a pair with a baseline."""

    scale_pixels: Annotated[float, "error at which a pair's score is 1/e"] = 1.0
    min_matches: Annotated[int, "pairs with fewer matches are left out and listed"] = 8
    negligible_baseline: Annotated[float, "baseline, as a part of the median depth, below which a pair is a turn"] = (
        1e-3
    )

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per frame pair."""
        trajectory, matches = Trajectory.from_feature(features["poses"]), features["matches"]
        units = tuple(self._units(trajectory, matches))
        scores = [unit.outcome for unit in units if isinstance(unit.outcome, Score)]
        if not scores:
            return Abstention(
                Reason.TOO_FEW_MATCHES, f"none of {len(units)} frame pairs has {self.min_matches} matches.", units
            )
        models = sorted({str(score.detail["model"]) for score in scores})
        return Score(
            value=math.fsum(score.value for score in scores) / len(scores),
            raw=math.fsum(score.raw or 0.0 for score in scores) / len(scores),
            units=units,
            detail={"branch": " and ".join(models), **describe_pairs(matches, units)},
        )

    def _units(self, trajectory: Trajectory, matches: Feature) -> Iterator[Unit]:
        width, height = (float(extent) for extent in matches["size"])
        posed = {int(frame): position for position, frame in enumerate(trajectory.frame_indices)}
        for first, second, points_1, points_2 in matched_points(matches):
            views = TwoViews.of(trajectory, posed[first], posed[second], (width, height), self.negligible_baseline)
            yield Unit(f"f{first}_f{second}", self._pair(views, points_1, points_2))

    def _pair(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Score | Abstention:
        if len(points_1) < self.min_matches:
            return Abstention(Reason.TOO_FEW_MATCHES, f"{len(points_1)} matches, at least {self.min_matches} needed.")
        # Where the camera only turned, epipolar lines and depths are undefined, but where each point must be is known.
        distances = transfer_distances if views.is_pure_rotation else self.distances
        error = float(np.mean(distances(views, points_1, points_2)))
        model = "homography" if views.is_pure_rotation else self.model
        return Score(math.exp(-error / self.scale_pixels), raw=error, detail={"matches": len(points_1), "model": model})

    def distances(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
        """[M] error in pixels of each match of a pair that has a baseline."""
        raise NotImplementedError


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
    where their convention is neither stated nor visible in the frames; `too_few_matches` where no pair has
    `min_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name = "spatial_epipolar"
    model = "epipolar"

    def distances(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
        """[M] error in pixels of each match of a pair that has a baseline."""
        return epipolar_distances(views, points_1, points_2)


@dataclass(frozen=True, slots=True)
class SpatialReprojection(MatchErrors):
    """Mean distance between matched points and the projections of their triangulated point, mapped by exp(-E / scale).

    For each frame pair, every match is triangulated linearly from the supplied poses; E is the mean over matches and
    both views of the distance in pixels between the match and the projected point. The value is the mean over pairs of
    exp(-E / `scale_pixels`); the raw value is the mean of E.

    Pure rotation: where the baseline of a pair is below `negligible_baseline` of the median depth nothing can be
    triangulated; the transfer error of the rotation homography is used instead, and the unit says `model: homography`.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where their convention is neither stated nor visible in the frames; `too_few_matches` where no pair has
    `min_matches` matches; `too_short` where no two frames are far enough apart.
    """

    name = "spatial_reprojection"
    model = "triangulation"

    def distances(self, views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
        """[M] error in pixels of each match of a pair that has a baseline."""
        return reprojection_distances(views, points_1, points_2)
