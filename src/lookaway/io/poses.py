"""Reads the camera poses that Depth Anything 3 writes: `results.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import Floats, Indices, Reason, Timeline, Trajectory
from lookaway.io.arrays import ArrayArchive

Convention: TypeAlias = Literal["world_to_camera", "camera_to_world"]

ROTATION_TOLERANCE = 1e-2
"""How far R R^T may be from the identity; estimated rotations stored in half precision stay below it."""
LARGEST_NUMBER = 1e12
"""No scene and no lens is larger, and products of such numbers still stay finite."""
DEPTH_STRIDE = 8
"""Every eighth pixel in both directions is enough for a median."""


def read_da3_poses(
    path: Path,
    timeline: Timeline,
    convention: Convention,
    *,
    rotation_tolerance: float = ROTATION_TOLERANCE,
    depth_stride: int = DEPTH_STRIDE,
) -> Trajectory:
    """The trajectory in a `results.npz` with `extrinsics`, `intrinsics` and `depth`, in OpenCV axes.

    Poses belong to the frames of `frame_indices`; without that array they are spread evenly over the video.
    """
    if convention not in get_args(Convention):
        raise ValueError(f"poses are {' or '.join(get_args(Convention))}, not {convention!r}.")
    with ArrayArchive(path) as archive:
        count, height, width = _check_shapes(archive)
        return Trajectory(
            camera_to_world=_camera_to_world(archive, convention, rotation_tolerance),
            intrinsics=_intrinsics(archive),
            frame_indices=_frame_indices(archive, count, timeline.frame_count),
            median_depth=_median_depths(archive, depth_stride),
            width=width,
            height=height,
            frame_count=timeline.frame_count,
        )


def _check_shapes(archive: ArrayArchive) -> tuple[int, int, int]:
    extrinsics, intrinsics, depth = (archive.shape(name) for name in ("extrinsics", "intrinsics", "depth"))
    count = extrinsics[0] if extrinsics else 0
    if count == 0 or extrinsics[1:] not in {(3, 4), (4, 4)}:
        raise archive.error(f"extrinsics has the shape {extrinsics}, expected [N, 3, 4] or [N, 4, 4].")
    if intrinsics != (count, 3, 3):
        raise archive.error(f"intrinsics has the shape {intrinsics}, expected {(count, 3, 3)}.")
    if len(depth) != 3 or depth[0] != count or 0 in depth:
        raise archive.error(f"depth has the shape {depth}, expected [{count}, height, width].")
    return depth


def _numbers(archive: ArrayArchive, name: str) -> Floats:
    values = archive.read(name)
    if values.dtype.kind not in "fiu":
        raise archive.error(f"{name} holds {values.dtype}, expected real numbers.")
    values = values.astype(np.float64)
    if not (np.abs(values) < LARGEST_NUMBER).all():
        raise archive.error(
            f"{name} holds NaN, infinity or numbers beyond {LARGEST_NUMBER:.0e}: the pose estimator failed.",
            Reason.POSE_FAILED,
        )
    return values


def _camera_to_world(archive: ArrayArchive, convention: Convention, tolerance: float) -> Floats:
    extrinsics = _numbers(archive, "extrinsics")
    matrices = np.tile(np.eye(4), (len(extrinsics), 1, 1))
    if not np.allclose(extrinsics[:, 3:], matrices[:, 3 : extrinsics.shape[1]], atol=tolerance):
        raise archive.error("the last row of an extrinsic matrix is not (0, 0, 0, 1); is it transposed?")
    matrices[:, :3] = extrinsics[:, :3]
    rotations = matrices[:, :3, :3]
    defect = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max()
    if defect > tolerance or (np.linalg.det(rotations) <= 0).any():
        raise archive.error(
            f"extrinsics holds matrices that are no rotations (off by {defect:.2g}).", Reason.POSE_FAILED
        )
    return matrices if convention == "camera_to_world" else np.linalg.inv(matrices)


def _intrinsics(archive: ArrayArchive) -> Floats:
    intrinsics = _numbers(archive, "intrinsics")
    lower = intrinsics[:, [1, 2, 2, 2], [0, 0, 1, 2]]
    if not np.allclose(lower, (0, 0, 0, 1), atol=1e-6):
        raise archive.error("intrinsics holds a matrix that is not [[fx, s, cx], [0, fy, cy], [0, 0, 1]].")
    if (intrinsics[:, [0, 1], [0, 1]] <= 0).any():
        raise archive.error("a focal length is not positive.", Reason.POSE_FAILED)
    return intrinsics


def _frame_indices(archive: ArrayArchive, count: int, frame_count: int) -> Indices:
    if "frame_indices" not in archive:
        if count > frame_count:
            raise archive.error(f"{count} poses for a video of {frame_count} frames; add `frame_indices`.")
        return np.rint(np.linspace(0, frame_count - 1, count)).astype(np.int64)
    given = archive.read("frame_indices")
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise archive.error(f"frame_indices has the shape {given.shape} of {given.dtype}, expected [{count}] integers.")
    if given[0] < 0 or given[-1] >= frame_count or (given[1:] <= given[:-1]).any():
        raise archive.error(f"frame_indices must increase within 0 to {frame_count - 1}.")
    return given.astype(np.int64)


def _median_depths(archive: ArrayArchive, stride: int) -> Floats:
    medians = []
    for depth in archive.rows("depth"):
        if depth.dtype.kind not in "fiu":
            raise archive.error(f"depth holds {depth.dtype}, expected real numbers.")
        sampled = depth[::stride, ::stride].astype(np.float64)
        valid = sampled[np.isfinite(sampled) & (sampled > 0)]
        if valid.size == 0:
            raise archive.error("a depth map has no positive, finite value.", Reason.POSE_FAILED)
        medians.append(float(np.median(valid)))
    return np.array(medians)
