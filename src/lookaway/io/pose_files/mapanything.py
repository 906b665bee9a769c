"""Reads what MapAnything predicts: a `.npz` of camera-to-world matrices, intrinsics and, where kept, depth."""

from __future__ import annotations

from lookaway.io.pose_files.network_archive import NetworkArchive
from lookaway.io.pose_files.source import PoseSource, PosesRead

PREDICTIONS = NetworkArchive(poses="cam_c2w", convention="camera_to_world", intrinsics=("intrinsic", "intrinsics"))


def read_mapanything(source: PoseSource) -> PosesRead:
    """The trajectory in `cam_c2w`, `intrinsic` (one camera for all frames, or one for each) and `depth`."""
    return PREDICTIONS.read(source)
