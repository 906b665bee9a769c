"""Checks that all poses must pass, whatever their source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices, Reason, Unmeasurable

Convention: TypeAlias = Literal["world_to_camera", "camera_to_world"]
AMBIGUOUS: Final = "ambiguous"
ToldConvention: TypeAlias = Convention | Literal["ambiguous"]
"""A convention, or that it is ambiguous."""

ROTATION_TOLERANCE = 1e-2
"""Tolerance of R R^T = I; estimated rotations stored in half precision stay below it."""
RotationTolerance: TypeAlias = Annotated[float, "how far R R^T may be from the identity before poses count as failed"]
LARGEST_NUMBER = 1e12
"""No scene or lens needs larger numbers, and their products stay finite."""
READ_POSES: Final = (f"{__name__}:LARGEST_NUMBER",)
"""What the lock of whoever reads poses holds."""
DEPTH_STRIDE = 8
"""Every eighth pixel in both directions is enough for a median."""
DepthStride: TypeAlias = Annotated[int, "every so many pixels of a depth map, in both directions, go into its median"]


class Refuse(Protocol):
    """Makes an error about the poses of one file."""

    def __call__(self, message: str, reason: Reason = ...) -> Unmeasurable:
        """An error to raise."""
        ...


def check_matrices_shape(name: str, shape: tuple[int, ...], refuse: Refuse) -> int:
    """How many poses there are, given the shape of their matrices."""
    if not shape or shape[0] == 0 or shape[1:] not in {(3, 4), (4, 4)}:
        raise refuse(f"{name} has the shape {shape}, expected [N, 3, 4] or [N, 4, 4].")
    return shape[0]


def check_depth_shape(shape: tuple[int, ...], count: int, refuse: Refuse) -> tuple[int, int]:
    """Height and width of the depth maps."""
    if len(shape) != 3 or shape[0] != count or 0 in shape:
        raise refuse(f"depth has the shape {shape}, expected [{count}, height, width].")
    return shape[1], shape[2]


def as_numbers(name: str, values: NDArray[Any], refuse: Refuse) -> Floats:
    """Finite real numbers in double precision."""
    if values.dtype.kind not in "fiu":
        raise refuse(f"{name} holds {values.dtype}, expected real numbers.")
    values = values.astype(np.float64)
    if not (np.abs(values) < LARGEST_NUMBER).all():
        raise refuse(
            f"{name} holds NaN, infinity or numbers beyond {LARGEST_NUMBER:.0e}: the pose estimator failed.",
            Reason.POSE_FAILED,
        )
    return values


def as_camera_to_world(
    name: str, given: NDArray[Any], convention: Convention, tolerance: float, refuse: Refuse
) -> Floats:
    """[N, 4, 4] from rigid motions of three or four rows."""
    check_matrices_shape(name, given.shape, refuse)
    given = as_numbers(name, given, refuse)
    matrices = np.tile(np.eye(4), (len(given), 1, 1))
    if not np.allclose(given[:, 3:], matrices[:, 3 : given.shape[1]], atol=tolerance):
        raise refuse(f"the last row of a matrix of {name} is not (0, 0, 0, 1); is it transposed?")
    matrices[:, :3] = given[:, :3]
    rotations = matrices[:, :3, :3]
    defect = np.abs(rotations @ rotations.transpose(0, 2, 1) - np.eye(3)).max()
    if defect > tolerance or (np.linalg.det(rotations) <= 0).any():
        raise refuse(f"{name} holds matrices that are not rotations (off by {defect:.2g}).", Reason.POSE_FAILED)
    return matrices if convention == "camera_to_world" else np.linalg.inv(matrices)


def as_intrinsics(name: str, given: NDArray[Any], count: int, refuse: Refuse) -> Floats:
    """[N, 3, 3] pinhole cameras."""
    if given.shape != (count, 3, 3):
        raise refuse(f"{name} has the shape {given.shape}, expected {(count, 3, 3)}.")
    intrinsics = as_numbers(name, given, refuse)
    lower = intrinsics[:, [1, 2, 2, 2], [0, 0, 1, 2]]
    if not np.allclose(lower, (0, 0, 0, 1), atol=1e-6):
        raise refuse(f"{name} holds a matrix that is not [[fx, s, cx], [0, fy, cy], [0, 0, 1]].")
    if (intrinsics[:, [0, 1], [0, 1]] <= 0).any():
        raise refuse("a focal length is not positive.", Reason.POSE_FAILED)
    return intrinsics


def as_frame_indices(name: str, given: NDArray[Any], count: int, frame_count: int, refuse: Refuse) -> Indices:
    """[N] increasing frames of the video."""
    if given.shape != (count,) or given.dtype.kind not in "iu":
        raise refuse(f"{name} has the shape {given.shape} of {given.dtype}, expected [{count}] integers.")
    if given[0] < 0 or given[-1] >= frame_count or (given[1:] <= given[:-1]).any():
        raise refuse(
            f"{name} must increase within 0 to {frame_count - 1}, found {given[0]} to {given[-1]}. "
            "Leave out the poses of other frames."
        )
    return given.astype(np.int64)


def spread_over_video(count: int, frame_count: int, refuse: Refuse) -> Indices:
    """[N] frames for poses without frame indices: evenly from the first frame to the last."""
    if count > frame_count:
        raise refuse(f"{count} poses for a video of {frame_count} frames; add `frame_indices`.")
    return np.rint(np.linspace(0, frame_count - 1, count)).astype(np.int64)


def median_depths(maps: Iterable[NDArray[Any]], stride: int, refuse: Refuse) -> Floats:
    """[N] medians of depth maps, [H, W] or [H, W, 1], over their positive and finite values."""
    medians = []
    for depth in maps:
        if depth.dtype.kind not in "fiu":
            raise refuse(f"depth holds {depth.dtype}, expected real numbers.")
        sampled = depth[::stride, ::stride].astype(np.float64)
        valid = sampled[np.isfinite(sampled) & (sampled > 0)]
        if valid.size == 0:
            raise refuse("a depth map has no positive, finite value.", Reason.POSE_FAILED)
        medians.append(float(np.median(valid)))
    return np.array(medians)
