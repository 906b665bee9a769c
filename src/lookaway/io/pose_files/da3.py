"""Reads what Depth Anything 3 writes: `results.npz`."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import get_args

import numpy as np

from lookaway.core import Trajectory
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.checks import (
    Convention,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    check_depth_shape,
    check_matrices_shape,
    median_depths,
    spread_over_video,
)
from lookaway.io.pose_files.source import PoseSource, PosesRead


def read_da3(source: PoseSource) -> PosesRead:
    """The trajectory in a `results.npz` with `extrinsics`, `intrinsics` and `depth`, in OpenCV axes.

    Poses belong to the frames of `frame_indices`; without that array they are spread evenly over the video.
    """
    if source.convention not in get_args(Convention):
        raise ValueError(f"poses are {' or '.join(get_args(Convention))}, not {source.convention!r}.")
    frame_count = source.timeline.frame_count
    with ArrayArchive(source.path) as archive, closing(archive.rows("depth")) as depth:
        refuse = archive.error
        count = check_matrices_shape("extrinsics", archive.shape("extrinsics"), refuse)
        height, width = check_depth_shape(archive.shape("depth"), count, refuse)
        depths = median_depths(islice(depth, source.depth_maps), source.depth_stride, refuse)
        trajectory = Trajectory(
            camera_to_world=as_camera_to_world(
                "extrinsics", archive.read("extrinsics"), source.convention, source.rotation_tolerance, refuse
            ),
            intrinsics=as_intrinsics("intrinsics", archive.read("intrinsics"), count, refuse),
            frame_indices=(
                as_frame_indices("frame_indices", archive.read("frame_indices"), count, frame_count, refuse)
                if "frame_indices" in archive
                else spread_over_video(count, frame_count, refuse)
            ),
            median_depth=np.pad(depths, (0, count - len(depths)), mode="edge"),
            width=width,
            height=height,
            frame_count=frame_count,
        )
    return PosesRead(trajectory)
