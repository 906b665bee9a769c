"""Paths that break: what is known of their pieces before and after these are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lookaway.core import Floats
from lookaway.perception.poses.tracking.camera_path import TrackedPath
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.moving import Moving
from lookaway.perception.poses.tracking.pieces import Pieces
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.turning import Turning


def linked_groups(links: Sequence[Link], frames: int, min_frames: int) -> list[set[int]]:
    """Frames that links join to one another, in order of their first one; groups of fewer frames are left out."""
    ones, twos = ([getattr(link, end) for link in links] for end in ("first", "second"))
    graph = coo_array((np.ones(len(links), np.int8), (ones, twos)), shape=(frames, frames))
    _, labels = connected_components(graph, directed=False)
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in dict.fromkeys(labels.tolist())]
    return [group for group in groups if len(group) >= min_frames]


@dataclass(frozen=True, slots=True, eq=False)
class TurningPieces:
    """Pieces in which the camera merely turns."""

    turning: Turning
    still_degrees: float
    """A camera that turns less stands still."""

    @property
    def pieces(self) -> Pieces:
        """With one centre and a depth of 1."""
        rotations = self.turning.rotations
        return Pieces(
            poses={place: _turned(rotation) for place, rotation in rotations.items()},
            depths=dict.fromkeys(rotations, 1.0),
            numbers=self.turning.pieces,
            focal=self.turning.focal,
        )

    def path(self, joined: Pieces, sightings: Sequence[Sighting]) -> TrackedPath:
        """The path of joined pieces."""
        rotations = {place: pose[:3, :3] for place, pose in joined.poses.items()}
        return TrackedPath.from_turning(replace(self.turning, rotations=rotations), sightings, self.still_degrees)


@dataclass(frozen=True, slots=True, eq=False)
class MovingPieces:
    """Pieces in some of which the camera moves, by number, in the order in which they were fitted."""

    fitted: dict[int, Moving | Turning] = field(default_factory=dict)

    @property
    def focal(self) -> float:
        """Focal length of the piece that was fitted first."""
        return next(iter(self.fitted.values())).focal

    @property
    def pieces(self) -> Pieces:
        """Each in its own axes and unit; where the camera merely turns, with one centre and a depth of 1."""
        pieces = Pieces(poses={}, depths={}, numbers={}, focal=self.focal)
        for number, piece in self.fitted.items():
            if isinstance(piece, Moving):
                poses, depths = piece.camera_to_world, piece.median_depth
                pieces.known.update(piece.known)
            else:
                poses = {place: _turned(rotation) for place, rotation in piece.rotations.items()}
                depths = dict.fromkeys(poses, 1.0)
            pieces.poses.update(poses)
            pieces.depths.update(depths)
            pieces.numbers.update(dict.fromkeys(poses, number))
        return pieces

    def path(self, joined: Pieces, sightings: Sequence[Sighting]) -> TrackedPath:
        """The path of joined pieces, with the largest of their errors."""
        moving = [piece for piece in self.fitted.values() if isinstance(piece, Moving)]
        whole = Moving(
            camera_to_world=joined.poses,
            median_depth=joined.depths,
            focal=self.focal,
            error=max(piece.error for piece in self.fitted.values()),
            inliers=sum(piece.inliers for piece in self.fitted.values()),
            matches=sum(piece.matches for piece in self.fitted.values()),
            points=sum(piece.points for piece in moving),
            known=joined.known,
        )
        path = TrackedPath.from_moving(whole, sightings)
        return replace(path, pieces=np.array([joined.numbers[place] for place in sorted(joined.poses)]))


def _turned(rotation: Floats) -> Floats:
    """[4, 4] a pose at the origin."""
    pose = np.eye(4)
    pose[:3, :3] = rotation
    return pose
