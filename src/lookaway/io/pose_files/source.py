"""What a pose reader gets, and what it returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from lookaway.core import Floats, Indices, Json, Reason, Rollout, Sampler, Timeline, Trajectory, Unmeasurable
from lookaway.core.trajectory import EXTENT_AS_DEPTH
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.checks import (
    DEPTH_STRIDE,
    ROTATION_TOLERANCE,
    Convention,
    Refuse,
    as_frame_indices,
    check_depth_shape,
    spread_over_video,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseSource:
    """Poses of one video: their files, and how to read them."""

    path: Path
    timeline: Timeline
    lens: Path | None = None
    """A file of intrinsics, if the layout stores them separately."""
    convention: Convention = "world_to_camera"
    """Only used if the layout leaves it open."""
    rotation_tolerance: float = ROTATION_TOLERANCE
    depth_stride: int = DEPTH_STRIDE
    depth_maps: int | None = None
    """How many depth maps of `results.npz` are read; later poses have the depth of the last one. `None` reads all."""
    assumed_fov_degrees: float | None = None
    assumed_depth: float | None = None
    first_frame_number: int | None = 0
    """Number of the first frame in the names of images; `None` is the lowest of them."""
    counts_images: bool = False
    """Whether COLMAP's images are taken one after the other in the order of their names, whatever their numbers."""


@dataclass(frozen=True, slots=True)
class PosesRead:
    """A trajectory, and what was assumed because it was not in the files."""

    trajectory: Trajectory
    assumptions: Mapping[str, Json] = field(default_factory=dict)


def assumed_intrinsics(source: PoseSource, count: int, refuse: Refuse) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] of a camera with square pixels that looks through the middle of the video's frames."""
    degrees = source.assumed_fov_degrees
    if degrees is None:
        raise refuse(
            "there are poses but no intrinsics. Add a file of intrinsics to the record, or pass "
            "`assumed_fov_degrees`, the horizontal field of view.",
            Reason.MISSING_INPUT,
        )
    width, height = source.timeline.width, source.timeline.height
    focal = width / 2 / math.tan(math.radians(degrees) / 2)
    matrix = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    return np.tile(matrix, (count, 1, 1)), {"intrinsics": f"assumed: a horizontal field of view of {degrees:g} degrees"}


def assumed_depths(source: PoseSource, camera_to_world: Floats) -> tuple[Floats, Mapping[str, Json]]:
    """[N] constant depth: the caller's, else the extent of the path."""
    if source.assumed_depth is not None:
        return np.full(len(camera_to_world), source.assumed_depth), {
            "median_depth": f"assumed: {source.assumed_depth:g} in the units of the poses"
        }
    centres = camera_to_world[:, :3, 3]
    extent = float(np.linalg.norm(centres - centres[0], axis=1).max())
    # If all cameras share one position, any depth says that they only rotate.
    return np.full(len(centres), extent or 1.0), {"median_depth": EXTENT_AS_DEPTH}


def intrinsics_at_video_size(
    source: PoseSource, intrinsics: Floats, refuse: Refuse
) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] for the video's frames, from intrinsics of an image of unknown size.

    The principal point is taken as its middle, which preserves the field of view.
    """
    middle = np.median(intrinsics[:, :2, 2], axis=0)
    if (middle <= 0).any():
        raise refuse("the principal point is not inside the image.", Reason.POSE_FAILED)
    scale = np.array([source.timeline.width / 2, source.timeline.height / 2]) / middle
    scaled = intrinsics * np.array([*scale, 1.0])[None, :, None]
    return scaled, {"size": "assumed: the principal point is the middle of the image"}


@dataclass(frozen=True, slots=True)
class PosedFrames:
    """The frames of another sampler, each moved to the nearest one with a pose and depth, none twice.

    The first frame stays, since tracks begin there. Without readable poses all stay.
    """

    frames: Annotated[Sampler, "the frames to use if all had a pose"]

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        wanted = self.frames.indices(timeline, rollout)
        path = rollout.artifacts.get("poses")
        if path is None:
            return wanted
        try:
            with ArrayArchive(path) as archive:
                posed = posed_frames(archive, timeline.frame_count)
        except Unmeasurable:
            return wanted  # whatever needs poses reports the same problem
        nearest = np.abs(np.subtract.outer(wanted, posed)).argmin(axis=1)
        return tuple(sorted({*wanted[:1], *posed[nearest].tolist()}))


def posed_frames(archive: ArrayArchive, frame_count: int) -> Indices:
    """[N] the frame of each depth map, and so of each pose: those of `frame_indices`, else spread over the video."""
    shape = archive.shape("depth")
    count = shape[0] if shape else 0
    check_depth_shape(shape, count, archive.error)
    if "frame_indices" not in archive:
        return spread_over_video(count, frame_count, archive.error)
    return as_frame_indices("frame_indices", archive.read("frame_indices"), count, frame_count, archive.error)
