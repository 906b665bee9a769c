"""Reads what ViPE writes: `pose/<name>.npz`, and `intrinsics/<name>.npz` as the lens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lookaway.core import Floats, Indices, Json, Trajectory
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.assumptions import assumed_depths, assumed_intrinsics
from lookaway.io.pose_files.checks import (
    Refuse,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    as_numbers,
    check_matrices_shape,
)
from lookaway.io.pose_files.source import PoseSource, PosesRead


def read_vipe(source: PoseSource) -> PosesRead:
    """The trajectory in `data` (camera-to-world matrices) and `inds` (their frames).

    Depth is left alone: ViPE keeps it as archives of pictures in a format of their own.
    """
    timeline = source.timeline
    with ArrayArchive(source.path) as archive:
        count = check_matrices_shape("data", archive.shape("data"), archive.error)
        camera_to_world = as_camera_to_world(
            "data", archive.read("data"), "camera_to_world", source.rotation_tolerance, archive.error
        )
        frames = as_frame_indices("inds", archive.read("inds"), count, timeline.frame_count, archive.error)
        intrinsics, told_lens = _lens(source, frames, archive.error)
    depth, told_depth = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=intrinsics,
        frame_indices=frames,
        median_depth=depth,
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    )
    return PosesRead(trajectory, {**told_lens, **told_depth})


def _lens(source: PoseSource, frames: Indices, refuse: Refuse) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] for the video's own size, from rows of fx, fy, cx, cy."""
    if source.lens is None:
        return assumed_intrinsics(source, len(frames), refuse)
    with ArrayArchive(source.lens) as archive:
        rows, inds = archive.read("data"), archive.read("inds")
        if rows.shape != (len(frames), 4):
            raise archive.error(
                f"data has the shape {rows.shape}, expected {(len(frames), 4)}: fx, fy, cx, cy of a pinhole camera "
                "for each pose."
            )
        if not np.array_equal(inds, frames):
            raise archive.error("inds are not the frames of the poses.")
        rows = as_numbers("data", rows, archive.error)
        matrices = np.tile(np.eye(3), (len(rows), 1, 1))
        matrices[:, [0, 1, 0, 1], [0, 1, 2, 2]] = rows
        return as_intrinsics("data", matrices, len(rows), archive.error), {}
