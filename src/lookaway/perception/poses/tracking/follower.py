"""Follows a camera through the frames of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from lookaway.core import Json, Reason, Unmeasurable
from lookaway.perception.poses.tracking.camera_path import TrackedPath
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import link_frames
from lookaway.perception.poses.tracking.moving import Moving, fit_moving
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.tracks import join_tracks
from lookaway.perception.poses.tracking.turning import Turning, fit_turning
from lookaway.perception.poses.tracking.two_views import Verification, verify

MIN_POINTS = 30
"""A clip of which half the frames show fewer points has too little texture."""
MIN_TURNED = 0.5
"""Turns that explain a smaller share of the points where the picture moved are not the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follower:
    """Finds the path of a camera, as one that only turns or as one that moves."""

    cv2: ModuleType
    ratio: float
    """A match must be nearer than this part of the second nearest."""
    tolerance: float
    """Pixels by which points are off their place."""
    step: float
    """Pixels that the picture moves from keyframe to keyframe."""
    prior: FocalPrior
    min_posed: float
    """A path has poses for at least this share of the frames."""

    def follow(self, sightings: Sequence[Sighting]) -> TrackedPath:
        """The path; an `Unmeasurable` where the frames do not tell it."""
        _check_texture(sightings)
        links = link_frames(sightings, self.ratio, self.step)
        if not links.links:
            raise _failed(f"no two of {len(sightings)} frames have enough points in common.")
        turning = fit_turning(links.links, self.prior, self.tolerance)
        verified = verify(self.cv2, links, turning, self.tolerance)
        facts: dict[str, Json] = {
            "frames_looked_at": len(sightings),
            "keyframes": len(links.keyframes),
            "preference_for_moving": verified.preference,
            "share_explained_by_turns": verified.turned,
        }
        if verified.preference > 0:
            moving = self._fit_moving(sightings, links.keyframes, verified)
            facts["frames_placed_as_moving"] = len(moving.camera_to_world) if moving else 0
            if moving and self._is_whole(moving.camera_to_world, sightings):
                return _with(TrackedPath.from_moving(moving, sightings), facts)
        self._check_turning(turning, verified, sightings)
        return _with(TrackedPath.from_turning(turning, sightings), facts)

    def _fit_moving(
        self, sightings: Sequence[Sighting], keyframes: Sequence[int], verified: Verification
    ) -> Moving | None:
        tracks = join_tracks(sightings, verified.links)
        return fit_moving(self.cv2, tracks, keyframes, verified.wide, self.prior, self.tolerance)

    def _is_whole(self, posed: Mapping[int, object], sightings: Sequence[Sighting]) -> bool:
        return len(posed) >= self.min_posed * len(sightings)

    def _check_turning(self, turning: Turning, verified: Verification, sightings: Sequence[Sighting]) -> None:
        """Turns are the path of a camera that moves, too, where no scene can be built and they explain enough."""
        if not self._is_whole(turning.rotations, sightings):
            lost = next(n for n in range(len(sightings)) if n not in turning.rotations)
            raise _failed(
                f"{len(turning.rotations)} of {len(sightings)} frames could be linked, frame {sightings[lost].frame} "
                f"is the first that could not; expected {self.min_posed:.0%}. There may be a cut, or frames that "
                "show nothing that stays."
            )
        if verified.turned < MIN_TURNED:
            raise _failed(
                "the picture moves neither as if the camera only turned, which explains "
                f"{verified.turned:.0%} of the points, nor as in a rigid scene that it moves past."
            )
        if self.prior.is_at_bound(turning.focal):
            raise _failed(
                f"turns explain the picture only with a focal length of {turning.focal:.0f} pixels, where "
                f"{self.prior.focal:.0f} is usual."
            )


def _with(path: TrackedPath, facts: dict[str, Json]) -> TrackedPath:
    return replace(path, detail={**path.detail, **facts})


def _check_texture(sightings: Sequence[Sighting]) -> None:
    if len(sightings) < 2:
        raise Unmeasurable(Reason.TOO_SHORT, f"{len(sightings)} frame was sampled, a path needs at least 2.")
    count = int(np.median([len(sighting.points) for sighting in sightings]))
    if count < MIN_POINTS:
        raise _failed(f"half of the frames show at most {count} points, expected {MIN_POINTS}: too little texture.")


def _failed(message: str) -> Unmeasurable:
    return Unmeasurable(Reason.POSE_FAILED, message)
