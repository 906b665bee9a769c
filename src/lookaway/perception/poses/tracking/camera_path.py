"""The path of a camera, in the axes of its first pose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices, Json
from lookaway.perception.poses.tracking.moving import Moving
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.turning import Turning


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrackedPath:
    """Where a camera was and looked; the median depth of what it saw first is 1."""

    frame_indices: Indices
    """[N] which frames of the video have a pose."""
    camera_to_world: Floats
    """[N, 4, 4]"""
    median_depth: Floats
    """[N]"""
    focal: float
    """Pixels of the size at which points were found."""
    detail: Mapping[str, Json]
    pieces: Indices
    """[N] the piece of each pose; a break, over which no points were followed, lies between two pieces."""

    @classmethod
    def from_turning(cls, turning: Turning, sightings: Sequence[Sighting], still_degrees: float) -> TrackedPath:
        """All centres are one; identical poses where the camera stands still, as one does that turns less than that."""
        places = sorted(turning.rotations)
        rotations = np.stack([turning.rotations[place] for place in places])
        largest = float(
            np.degrees(2 * np.arcsin(min(1.0, np.linalg.norm(rotations - np.eye(3), axis=(1, 2)).max() / 8**0.5)))
        )
        poses = np.tile(np.eye(4), (len(places), 1, 1))
        is_still = largest < still_degrees
        if not is_still:
            poses[:, :3, :3] = rotations
        return cls(
            frame_indices=np.array([sightings[place].frame for place in places]),
            camera_to_world=poses,
            median_depth=np.ones(len(places)),
            focal=turning.focal,
            pieces=np.array([turning.pieces[place] for place in places]),
            detail={
                "model": "static" if is_still else "rotation",
                "inliers": turning.inliers,
                "matches": turning.matches,
                "reprojection_error_pixels": turning.error,
            },
        )

    @classmethod
    def from_moving(cls, moving: Moving, sightings: Sequence[Sighting]) -> TrackedPath:
        """Turned into the axes of the first pose, and scaled."""
        places = sorted(moving.camera_to_world)
        poses = np.stack([moving.camera_to_world[place] for place in places])
        depth = np.array([moving.median_depth[place] for place in places])
        poses = np.linalg.inv(poses[0]) @ poses
        poses[:, :3, 3] /= depth[0]
        return cls(
            frame_indices=np.array([sightings[place].frame for place in places]),
            camera_to_world=poses,
            median_depth=depth / depth[0],
            focal=moving.focal,
            pieces=np.zeros(len(places), np.int64),
            detail={
                "model": "translation",
                "inliers": moving.inliers,
                "matches": moving.matches,
                "reprojection_error_pixels": moving.error,
                "points": moving.points,
            },
        )
