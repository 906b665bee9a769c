"""What matched points say beside the published errors: how many there are, and how many are where they can be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Floats,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
    UnknownName,
    UserError,
)
from lookaway.metrics.match_errors import describe_pairs, matched_points
from lookaway.metrics.two_views import TwoViews, possible_distances

Camera: TypeAlias = Literal["turns", "moves"]


@dataclass(frozen=True, slots=True)
class SpatialMatched(MetricBase):
    """Share of the points of a frame that are found again in its partner.

    Of each frame pair, the number of matches divided by the number of points in the frame that has fewer. The value is
    the mean over pairs. Errors of matches say nothing about what was not matched: this is how much they leave out.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where their convention is neither stated nor visible in the frames; `too_few_matches` where no pair has points in
    both frames; `too_short` where no two frames are far enough apart.
    """

    name = "spatial_matched"
    unit = "share"
    needs = ("matches",)

    min_points: Annotated[int, "pairs with a frame of fewer points are left out and listed"] = 8

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per frame pair."""
        matches = features["matches"]
        units = tuple(self._units(matches))
        return _mean(units, matches, f"none of {len(units)} frame pairs has {self.min_points} points in both frames.")

    def _units(self, matches: Feature) -> Iterator[Unit]:
        fewer = matches["points"].min(axis=1).tolist()
        for (first, second, points, _), most in zip(matched_points(matches), fewer, strict=True):
            if most < self.min_points:
                message = f"a frame has {most} points, at least {self.min_points} needed."
                outcome: Score | Abstention = Abstention(Reason.TOO_FEW_MATCHES, message)
            else:
                outcome = Score(len(points) / most, detail={"matches": len(points), "points": most})
            yield Unit(f"f{first}_f{second}", outcome)


@dataclass(frozen=True, slots=True)
class PossibleMatches(MetricBase):
    """How far matches are from where the poses let them be, of cameras that turn or of cameras that move."""

    needs = ("poses", "matches")

    camera: Annotated[Camera, "cameras that are measured: those that `turns` only, or those that `moves` too"] = "turns"
    nearest: Annotated[float, "of a moving camera: the least depth of a point, as a part of the median depth"] = 0.2
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    min_matches: Annotated[int, "pairs with fewer matches are left out and listed"] = 8

    def __post_init__(self) -> None:
        if self.camera not in get_args(Camera):
            raise UnknownName("camera", self.camera, get_args(Camera))
        if not self.nearest > 0:
            raise UserError(f"The least depth is positive, found nearest={self.nearest}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per frame pair."""
        trajectory, matches = Trajectory.from_feature(features["poses"]), features["matches"]
        camera = "moves" if trajectory.relative_centres(self.negligible_extent).any() else "turns"
        if camera != self.camera:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"the camera {camera}, and this column is for one that {self.camera}: the path is "
                f"{'longer' if camera == 'moves' else 'shorter'} than {self.negligible_extent:g} of the median depth.",
            )
        units = tuple(self._units(trajectory, matches))
        return _mean(units, matches, f"none of {len(units)} frame pairs has {self.min_matches} matches.", camera)

    def _units(self, trajectory: Trajectory, matches: Feature) -> Iterator[Unit]:
        width, height = (float(extent) for extent in matches["size"])
        posed = {int(frame): position for position, frame in enumerate(trajectory.frame_indices)}
        for first, second, points_1, points_2 in matched_points(matches):
            if len(points_1) < self.min_matches:
                message = f"{len(points_1)} matches, at least {self.min_matches} needed."
                yield Unit(f"f{first}_f{second}", Abstention(Reason.TOO_FEW_MATCHES, message))
                continue
            ends = posed[first], posed[second]
            views = TwoViews.of(trajectory, *ends, (width, height), 0.0)
            if self.camera == "turns":
                # The centres of a camera that only turns are noise, which would excuse errors along its direction.
                views = replace(views, translation=np.zeros(3))
            depth = self.nearest * float(trajectory.median_depth[list(ends)].min())
            errors = possible_distances(views, points_1, points_2, depth)
            yield Unit(f"f{first}_f{second}", self.score(errors))

    def score(self, errors: Floats) -> Score:
        """The score of a pair, from the error in pixels [M] of its matches."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class SpatialWithin(PossibleMatches):
    """Share of matches that are within a few pixels of where the poses let them be.

    A point of one frame can be seen, in the other, on a segment: from where it would be at infinity to where it would
    be at `nearest` of the median depth. The error of a match is its distance to that segment, mean of both directions.
    If the camera only turns, the segment is a point, and the error is that of the rotation alone. The value is the mean
    over pairs of the share of matches with an error of at most `limit_pixels`: few wrong matches, however far they are
    off, move it little, and an object that moved moves it by its share of the matches.

    A camera that turns is measured in both dimensions, one that moves across the line only; a mean of both would say
    more about cameras than about worlds. `camera` says which are measured, and the others abstain.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where their convention is neither stated nor visible in the frames; `not_applicable` where the camera is not of the
    kind of `camera`; `too_few_matches` where no pair has `min_matches` matches; `too_short` where no two frames are far
    enough apart.
    """

    name = "spatial_within_2px"
    unit = "share"

    limit_pixels: Annotated[float, "a match is in its place up to this error"] = 2.0

    def score(self, errors: Floats) -> Score:
        """The score of a pair, from the error in pixels [M] of its matches."""
        return Score(float(np.mean(errors <= self.limit_pixels)), detail={"matches": len(errors)})


@dataclass(frozen=True, slots=True)
class SpatialCapped(PossibleMatches):
    """Mean error of matches, none counted beyond a cap, mapped by exp(-E / scale).

    The error of a match is that of `spatial_within_2px`, but at most `cap_pixels`, so that a few matches that are wrong
    by hundreds of pixels cannot decide the mean. E is the mean over the matches of a pair; the value is the mean over
    pairs of exp(-E / `scale_pixels`), the raw value the mean of E.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where their convention is neither stated nor visible in the frames; `not_applicable` where the camera is not of the
    kind of `camera`; `too_few_matches` where no pair has `min_matches` matches; `too_short` where no two frames are far
    enough apart.
    """

    name = "spatial_capped"
    raw_unit = "pixels"

    cap_pixels: Annotated[float, "a larger error counts as this one"] = 5.0
    scale_pixels: Annotated[float, "error at which a pair's score is 1/e"] = 1.0

    def score(self, errors: Floats) -> Score:
        """The score of a pair, from the error in pixels [M] of its matches."""
        error = float(np.minimum(errors, self.cap_pixels).mean())
        return Score(math.exp(-error / self.scale_pixels), raw=error, detail={"matches": len(errors)})


def _mean(units: tuple[Unit, ...], matches: Feature, problem: str, camera: str | None = None) -> Outcome:
    scores = [unit.outcome for unit in units if isinstance(unit.outcome, Score)]
    if not scores:
        return Abstention(Reason.TOO_FEW_MATCHES, problem, units)
    raws = [score.raw for score in scores if score.raw is not None]
    return Score(
        value=math.fsum(score.value for score in scores) / len(scores),
        raw=math.fsum(raws) / len(raws) if raws else None,
        units=units,
        detail={**({"branch": f"a camera that {camera}"} if camera else {}), **describe_pairs(matches, units)},
    )
