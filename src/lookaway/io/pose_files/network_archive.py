"""Reads archives of what a network predicted: poses, intrinsics if any, depth if any."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Json, Trajectory
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.assumptions import assumed_depths, assumed_intrinsics, intrinsics_at_video_size
from lookaway.io.pose_files.checks import (
    Convention,
    as_camera_to_world,
    as_intrinsics,
    check_depth_shape,
    check_matrices_shape,
    median_depths,
    spread_over_video,
)
from lookaway.io.pose_files.source import PoseSource, PosesRead


@dataclass(frozen=True, slots=True)
class NetworkArchive:
    """The names that a network's archive gives to its arrays."""

    poses: str
    convention: Convention
    intrinsics: tuple[str, ...]
    """Names under which intrinsics are found, the first one first."""
    depth: str = "depth"

    def read(self, source: PoseSource) -> PosesRead:
        """The trajectory; poses are spread evenly over the video."""
        with ArrayArchive(source.path) as archive:
            refuse = archive.error
            count = check_matrices_shape(self.poses, archive.shape(self.poses), refuse)
            camera_to_world = as_camera_to_world(
                self.poses, archive.read(self.poses), self.convention, source.rotation_tolerance, refuse
            )
            intrinsics, (width, height), told_lens = self._lens(archive, source, count)
            depth, told_depth = self._depth(archive, source, camera_to_world)
            trajectory = Trajectory(
                camera_to_world=camera_to_world,
                intrinsics=intrinsics,
                frame_indices=spread_over_video(count, source.timeline.frame_count, refuse),
                median_depth=depth,
                width=width,
                height=height,
                frame_count=source.timeline.frame_count,
            )
        return PosesRead(trajectory, {**told_lens, **told_depth})

    def _lens(
        self, archive: ArrayArchive, source: PoseSource, count: int
    ) -> tuple[Floats, tuple[int, int], Mapping[str, Json]]:
        """Intrinsics, the width and height of their image, and what was assumed."""
        video = source.timeline.width, source.timeline.height
        name = next((name for name in self.intrinsics if name in archive), None)
        if name is None:
            intrinsics, told = assumed_intrinsics(source, count, archive.error)
            return intrinsics, video, told
        given = archive.read(name)
        if given.shape == (3, 3):
            given = np.broadcast_to(given, (count, 3, 3))
        intrinsics = as_intrinsics(name, given, count, archive.error)
        if self.depth in archive:
            height, width = check_depth_shape(_flat(archive.shape(self.depth)), count, archive.error)
            return intrinsics, (width, height), {}
        intrinsics, told = intrinsics_at_video_size(source, intrinsics, archive.error)
        return intrinsics, video, told

    def _depth(
        self, archive: ArrayArchive, source: PoseSource, camera_to_world: Floats
    ) -> tuple[Floats, Mapping[str, Json]]:
        if self.depth not in archive:
            return assumed_depths(source, camera_to_world)
        check_depth_shape(_flat(archive.shape(self.depth)), len(camera_to_world), archive.error)
        with closing(archive.rows(self.depth)) as maps:
            return median_depths(maps, source.depth_stride, archive.error), {}


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without the last axis of depth maps that are images of one channel."""
    return shape[:3] if len(shape) == 4 and shape[3] == 1 else shape
