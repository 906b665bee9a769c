"""Reads what VGGT predicts: a `.npz` of its predictions, or a `poses.npy` of camera-to-world matrices."""

from __future__ import annotations

from lookaway.core import Trajectory
from lookaway.io.arrays import read_array
from lookaway.io.pose_files.assumptions import assumed_depths, assumed_intrinsics
from lookaway.io.pose_files.checks import as_camera_to_world, spread_over_video
from lookaway.io.pose_files.network_archive import NetworkArchive
from lookaway.io.pose_files.source import PoseSource, PosesRead

PREDICTIONS = NetworkArchive(poses="extrinsic", convention="world_to_camera", intrinsics=("intrinsic",))


def read_vggt(source: PoseSource) -> PosesRead:
    """The trajectory in predictions (`extrinsic`, `intrinsic`, `depth`) or in a bare array of poses."""
    return _read_bare(source) if source.path.suffix == ".npy" else PREDICTIONS.read(source)


def _read_bare(source: PoseSource) -> PosesRead:
    given, refuse = read_array(source.path)
    timeline = source.timeline
    camera_to_world = as_camera_to_world("the array", given, "camera_to_world", source.rotation_tolerance, refuse)
    intrinsics, told_lens = assumed_intrinsics(source, len(camera_to_world), refuse)
    depth, told_depth = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=intrinsics,
        frame_indices=spread_over_video(len(camera_to_world), timeline.frame_count, refuse),
        median_depth=depth,
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    )
    return PosesRead(trajectory, {**told_lens, **told_depth})
