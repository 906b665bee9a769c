"""Reads the camera poses that Depth Anything 3 writes: `results.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Floats, Indices, Reason, Timeline, Trajectory
from lookaway.io.arrays import ArrayArchive

Convention: TypeAlias = Literal["world_to_camera", "camera_to_world"]

ROTATION_TOLERANCE = 1e-2
"""How far R R^T may be from the identity; estimated rotations stored in half precision stay below it."""
DEPTH_STRIDE = 8
"""Every eighth pixel in both directions is enough for a median."""


def read_da3_poses(path: Path, timeline: Timeline, convention: Convention) -> Trajectory:
    """The trajectory in a `results.npz` with `extrinsics`, `intrinsics` and `depth`, in OpenCV axes.

    Poses belong to the frames of `frame_indices`; without that array they are spread evenly over the video.
    """
    with ArrayArchive(path) as archive:
        extrinsics = _numbers(archive, "extrinsics")
        count = len(extrinsics)
        intrinsics = _numbers(archive, "intrinsics")
        depth_shape = archive.shape("depth")
        _check_shapes(archive, extrinsics, intrinsics, depth_shape)
        trajectory = Trajectory(
            camera_to_world=_camera_to_world(archive, extrinsics, convention),
            intrinsics=intrinsics,
            frame_indices=_frame_indices(archive, count, timeline.frame_count),
            median_depth=_median_depths(archive),
            width=depth_shape[2],
            height=depth_shape[1],
            frame_count=timeline.frame_count,
        )
    if not (intrinsics[:, 0, 0] > 0).all() or not (intrinsics[:, 1, 1] > 0).all():
        raise ArtifactError(Reason.POSE_FAILED, f"{path.name}: a focal length is not positive.")
    return trajectory


def _numbers(archive: ArrayArchive, name: str) -> Floats:
    if len(archive.shape(name)) != 3:
        raise archive.error(f"{name} has the shape {archive.shape(name)}, expected three axes.")
    values = archive.read(name)
    if values.dtype.kind not in "fiu":
        raise archive.error(f"{name} holds {values.dtype}, expected numbers.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ArtifactError(Reason.POSE_FAILED, f"{name} holds NaN or infinity: the pose estimator failed.")
    return values


def _check_shapes(archive: ArrayArchive, extrinsics: Floats, intrinsics: Floats, depth: tuple[int, ...]) -> None:
    count = len(extrinsics)
    if count == 0 or extrinsics.shape[1:] not in {(3, 4), (4, 4)}:
        raise archive.error(f"extrinsics has the shape {extrinsics.shape}, expected [N, 3, 4] or [N, 4, 4].")
    if intrinsics.shape != (count, 3, 3):
        raise archive.error(f"intrinsics has the shape {intrinsics.shape}, expected {(count, 3, 3)}.")
    if len(depth) != 3 or depth[0] != count or 0 in depth:
        raise archive.error(f"depth has the shape {depth}, expected [{count}, height, width].")


def _camera_to_world(archive: ArrayArchive, extrinsics: Floats, convention: Convention) -> Floats:
    matrices = np.tile(np.eye(4), (len(extrinsics), 1, 1))
    matrices[:, :3] = extrinsics[:, :3, :4]
    rotations = matrices[:, :3, :3]
    defect = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max()
    if defect > ROTATION_TOLERANCE or (np.linalg.det(rotations) <= 0).any():
        raise ArtifactError(
            Reason.POSE_FAILED, f"extrinsics hold matrices that are no rotations (off by {defect:.2g})."
        )
    return matrices if convention == "camera_to_world" else np.linalg.inv(matrices)


def _frame_indices(archive: ArrayArchive, count: int, frame_count: int) -> Indices:
    if "frame_indices" not in archive:
        if count > frame_count:
            raise ArtifactError(
                Reason.INVALID_INPUT, f"{count} poses for a video of {frame_count} frames; add `frame_indices`."
            )
        return np.rint(np.linspace(0, frame_count - 1, count)).astype(np.int64)
    given: NDArray[Any] = archive.read("frame_indices")
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise archive.error(
            f"frame_indices has the shape {given.shape} of {given.dtype}, expected [{count}] of integers."
        )
    indices = given.astype(np.int64)
    if indices[0] < 0 or indices[-1] >= frame_count or (np.diff(indices) <= 0).any():
        raise archive.error(f"frame_indices must increase within 0 to {frame_count - 1}.")
    return indices


def _median_depths(archive: ArrayArchive) -> Floats:
    medians = []
    for depth in archive.rows("depth"):
        if depth.dtype.kind not in "fiu":
            raise archive.error(f"depth holds {depth.dtype}, expected numbers.")
        sampled = depth[::DEPTH_STRIDE, ::DEPTH_STRIDE].astype(np.float64)
        valid = sampled[np.isfinite(sampled) & (sampled > 0)]
        if valid.size == 0:
            raise ArtifactError(Reason.POSE_FAILED, "a depth map has no positive, finite value.")
        medians.append(float(np.median(valid)))
    return np.array(medians)
