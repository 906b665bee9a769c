"""What stands in for intrinsics and depth that a layout does not have, and how it is told.

Intrinsics are only guessed when the caller names a field of view. Depth serves as the scale against which a motion is
too short to matter. Without depth, and unless the caller names one, the longest distance from the first camera stands
in: no path is then too short to count as a motion, and two cameras are far apart or near as compared to that path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lookaway.core import Floats, Json, Reason
from lookaway.io.pose_files.checks import Refuse
from lookaway.io.pose_files.source import PoseSource


def assumed_intrinsics(source: PoseSource, count: int, refuse: Refuse) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] of a camera with square pixels that looks through the middle of the video's frames."""
    degrees = source.assumed_fov_degrees
    if degrees is None:
        raise refuse(
            "there are poses but no intrinsics. Name a file of intrinsics in the record, or pass "
            "`assumed_fov_degrees`, the horizontal field of view.",
            Reason.MISSING_INPUT,
        )
    width, height = source.timeline.width, source.timeline.height
    focal = width / 2 / math.tan(math.radians(degrees) / 2)
    matrix = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    return np.tile(matrix, (count, 1, 1)), {"intrinsics": f"assumed: a horizontal field of view of {degrees:g} degrees"}


def assumed_depths(source: PoseSource, camera_to_world: Floats) -> tuple[Floats, Mapping[str, Json]]:
    """[N] of one depth: the caller's, or else the extent of the path."""
    if source.assumed_depth is not None:
        return np.full(len(camera_to_world), source.assumed_depth), {
            "median_depth": f"assumed: {source.assumed_depth:g} in the units of the poses"
        }
    centres = camera_to_world[:, :3, 3]
    extent = float(np.linalg.norm(centres - centres[0], axis=1).max())
    # Where all cameras are in one place, any depth says that they only turn.
    return np.full(len(centres), extent or 1.0), {"median_depth": "assumed: the extent of the path"}


def intrinsics_at_video_size(
    source: PoseSource, intrinsics: Floats, refuse: Refuse
) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] for the video's frames, from intrinsics of an image whose size nobody wrote down.

    Its middle is taken to be the principal point, which keeps the field of view.
    """
    middle = np.median(intrinsics[:, :2, 2], axis=0)
    if (middle <= 0).any():
        raise refuse("the principal point is not inside the image.", Reason.POSE_FAILED)
    scale = np.array([source.timeline.width / 2, source.timeline.height / 2]) / middle
    scaled = intrinsics * np.array([*scale, 1.0])[None, :, None]
    return scaled, {"size": "assumed: the principal point is the middle of the image"}
