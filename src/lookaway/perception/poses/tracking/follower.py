"""Follows a camera through the frames of a clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from lookaway.core import Json, Reason, Unmeasurable
from lookaway.perception.poses.tracking.broken_paths import MovingPieces, TurningPieces, linked_groups
from lookaway.perception.poses.tracking.camera_path import TrackedPath
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link, Links, link_frames
from lookaway.perception.poses.tracking.moving import Moving, fit_moving
from lookaway.perception.poses.tracking.pieces import NotJoined, join_pieces
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.tracks import join_tracks
from lookaway.perception.poses.tracking.turning import Turning, fit_turning
from lookaway.perception.poses.tracking.two_views import Verification, verify


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
    settings: TrackerSettings

    def follow(self, sightings: Sequence[Sighting]) -> TrackedPath:
        """The path; an `Unmeasurable` where the frames do not tell it."""
        _check_texture(sightings, self.settings.min_points)
        links = link_frames(sightings, self.ratio, self.step, self.settings.links)
        if not links.links:
            raise _failed(f"no two of {len(sightings)} frames have enough points in common.")
        turning = self._fit_turning(links.links, (0,), 1)
        verified = self._verify(links, links.links, turning)
        facts: dict[str, Json] = {
            "frames_looked_at": len(sightings),
            "keyframes": len(links.keyframes),
            "preference_for_moving": verified.preference,
            "share_explained_by_turns": verified.turned,
            "pieces": 1,
        }
        if verified.preference > 0:
            moving = self._fit_moving(sightings, links.keyframes, verified)
            facts["frames_placed_as_moving"] = len(moving.camera_to_world) if moving else 0
            if moving and self._is_whole(moving.camera_to_world, sightings):
                return _with(TrackedPath.from_moving(moving, sightings), facts)
        if not self._is_whole(turning.rotations, sightings):
            return self._join(sightings, links, verified, turning, facts)
        self._check_turning(turning, verified)
        return _with(TrackedPath.from_turning(turning, sightings, self.settings.still_degrees), facts)

    def _join(
        self,
        sightings: Sequence[Sighting],
        links: Links,
        verified: Verification,
        first: Turning,
        facts: dict[str, Json],
    ) -> TrackedPath:
        """The path as pieces that are joined over the breaks; an `Unmeasurable` that names the break where it is not.

        `first` is the piece of the first frame.
        """
        lost = next(n for n in range(len(sightings)) if n not in first.rotations)
        broken = (
            f"{len(first.rotations)} of {len(sightings)} frames could be linked, frame {sightings[lost].frame} "
            f"is the first that could not; expected {self.min_posed:.0%}. There may be a cut, or frames that "
            "show nothing that stays."
        )
        fitted = self._turning_pieces(sightings, links) or self._moving_pieces(sightings, links, verified)
        if fitted is None:
            raise _failed(broken)
        try:
            joined, breaks = join_pieces(self.cv2, fitted.pieces, sightings, self.settings)
        except NotJoined as error:
            raise _failed(f"{broken} The pieces are not joined: {error}.") from None
        facts |= {"pieces": len(set(joined.numbers.values())), "breaks": [each.describe() for each in breaks]}
        return _with(fitted.path(joined, sightings), facts)

    def _turning_pieces(self, sightings: Sequence[Sighting], links: Links) -> TurningPieces | None:
        """Pieces in each of which the camera merely turns; none where it does not, or where too few frames are left."""
        starts = range(len(sightings))
        turning = self._fit_turning(links.links, starts, self.settings.joins.min_frames)
        if not self._is_whole(turning.rotations, sightings):
            return None
        for piece in sorted(set(turning.pieces.values())):
            own = [link for link in links.links if turning.is_linked(link) and turning.pieces[link.first] == piece]
            verified = self._verify(links, own, turning)
            if verified.preference > 0:
                return None
            self._check_turning(turning, verified)
        return TurningPieces(turning, self.settings.still_degrees)

    def _moving_pieces(
        self, sightings: Sequence[Sighting], links: Links, verified: Verification
    ) -> MovingPieces | None:
        """Pieces in some of which the camera moves; none where too few frames are left, or the path does not break."""
        groups = linked_groups(verified.links, len(sightings), self.settings.joins.min_frames)
        if len(groups) < 2 or sum(map(len, groups)) < self.min_posed * len(sightings):
            return None
        fitted: dict[int, Moving | Turning] = {}
        prior = self.prior
        # The longest first: it tells the focal length of all.
        for number in sorted(range(len(groups)), key=lambda number: -len(groups[number])):
            piece = replace(self, prior=prior)._fit_piece(sightings, links, groups[number])
            if piece is None:
                return None
            fitted[number] = piece
            prior = replace(self.prior, focal=piece.focal, spread=self.settings.joins.same_lens)
        return MovingPieces(fitted) if any(isinstance(piece, Moving) for piece in fitted.values()) else None

    def _fit_piece(self, sightings: Sequence[Sighting], links: Links, group: set[int]) -> Moving | Turning | None:
        own = tuple(link for link in links.links if link.first in group and link.second in group)
        turning = self._fit_turning(own, (min(group),), 1)
        verified = self._verify(links, own, turning)
        min_frames = self.min_posed * len(group)
        if verified.preference <= 0:
            self._check_turning(turning, verified)
            return turning if len(turning.rotations) >= min_frames else None
        keyframes = [frame for frame in links.keyframes if frame in group]
        moving = self._fit_moving(sightings, keyframes, verified)
        return moving if moving and len(moving.camera_to_world) >= min_frames else None

    def _fit_turning(self, links: Sequence[Link], starts: Sequence[int], min_frames: int) -> Turning:
        return fit_turning(links, self.prior, self.tolerance, self.settings.turns, starts=starts, min_frames=min_frames)

    def _verify(self, links: Links, some: Sequence[Link], turning: Turning) -> Verification:
        return verify(self.cv2, replace(links, links=tuple(some)), turning, self.tolerance, self.settings)

    def _fit_moving(
        self, sightings: Sequence[Sighting], keyframes: Sequence[int], verified: Verification
    ) -> Moving | None:
        tracks = join_tracks(sightings, verified.links)
        return fit_moving(tracks, keyframes, verified.wide, self.prior, self.tolerance, self.settings)

    def _is_whole(self, posed: Mapping[int, object], sightings: Sequence[Sighting]) -> bool:
        return len(posed) >= self.min_posed * len(sightings)

    def _check_turning(self, turning: Turning, verified: Verification) -> None:
        """Turns are the path of a camera that moves, too, where no scene can be built and they explain enough."""
        if verified.turned < self.settings.min_turned:
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


def _check_texture(sightings: Sequence[Sighting], min_points: int) -> None:
    if len(sightings) < 2:
        raise Unmeasurable(Reason.TOO_SHORT, f"{len(sightings)} frame was sampled, a path needs at least 2.")
    count = int(np.median([len(sighting.points) for sighting in sightings]))
    if count < min_points:
        raise _failed(f"half of the frames show at most {count} points, expected {min_points}: too little texture.")


def _failed(message: str) -> Unmeasurable:
    return Unmeasurable(Reason.POSE_FAILED, message)
