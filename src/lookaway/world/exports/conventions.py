"""The pose conventions of the benchmarks, each from and to ours.

Ours: camera to world, [N, 4, 4], in metres; camera axes x right, y down, z forward (OpenCV); world axes right-handed, z
up.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats

CENTIMETRES_PER_METRE = 100.0
OPENCV_FROM_OPENGL = np.diag([1.0, -1.0, -1.0])
"""Turns camera axes x right, y up, z backward into x right, y down, z forward, and back."""
UNREAL_FROM_WORLD = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Our y, along which a camera with yaw 0 looks, is Unreal's x; our x, its right, is Unreal's y. A mirroring."""


def poses(rotations: Floats, centres: Floats) -> Floats:
    """[N, 4, 4] from [N, 3, 3] and [N, 3]."""
    matrices = np.tile(np.eye(4), (len(rotations), 1, 1))
    matrices[:, :3, :3], matrices[:, :3, 3] = rotations, centres
    return matrices


def inverse(matrices: Floats) -> Floats:
    """[N, 4, 4] world to camera from camera to world, and the other way round, exact to rounding."""
    turned = matrices[:, :3, :3].transpose(0, 2, 1)
    return poses(turned, -np.einsum("nij,nj->ni", turned, matrices[:, :3, 3]))


def to_colmap(camera_to_world: Floats) -> tuple[Floats, Floats]:
    """COLMAP's `images.txt`: world to camera, OpenCV camera axes, metres; [N, 4] quaternions w, x, y, z and [N, 3]."""
    matrices = inverse(camera_to_world)
    turns = Rotation.from_matrix(matrices[:, :3, :3])
    return np.asarray(turns.as_quat(canonical=True, scalar_first=True)), matrices[:, :3, 3]


def from_colmap(quaternions_wxyz: Floats, translations: Floats) -> Floats:
    """Camera to world, from COLMAP's world to camera."""
    turns = Rotation.from_quat(quaternions_wxyz, scalar_first=True)
    return inverse(poses(turns.as_matrix(), translations))


def to_unreal(camera_to_world: Floats) -> tuple[Floats, Floats]:
    """Unreal Engine: left-handed, x forward, y right, z up, centimetres; [N, 3] location and [N, 3] roll, pitch, yaw.

    Angles are degrees. Positive yaw turns right, positive pitch looks up, positive roll lets the right side sink. A
    camera that looks along our +y has yaw 0; one that stands a metre to its right has y = 100.
    """
    rotations = UNREAL_FROM_WORLD @ camera_to_world[:, :3, :3]
    right, down, forward = (rotations[:, :, axis] for axis in range(3))
    roll = np.arctan2(-right[:, 2], -down[:, 2])
    pitch = np.arctan2(forward[:, 2], np.hypot(forward[:, 0], forward[:, 1]))
    yaw = np.arctan2(forward[:, 1], forward[:, 0])
    location = camera_to_world[:, :3, 3] @ UNREAL_FROM_WORLD.T * CENTIMETRES_PER_METRE
    return location + 0.0, np.degrees(np.stack([roll, pitch, yaw], axis=1)) + 0.0


def from_unreal(location: Floats, roll_pitch_yaw: Floats) -> Floats:
    """Camera to world, from Unreal's centimetres and degrees."""
    roll, pitch, yaw = np.radians(np.asarray(roll_pitch_yaw)).T
    nothing = np.zeros_like(yaw)
    forward = np.stack([np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)], axis=1)
    level = np.stack([-np.sin(yaw), np.cos(yaw), nothing], axis=1)
    upward = np.stack([-np.sin(pitch) * np.cos(yaw), -np.sin(pitch) * np.sin(yaw), np.cos(pitch)], axis=1)
    sine, cosine = np.sin(roll)[:, None], np.cos(roll)[:, None]
    right, up = level * cosine - upward * sine, upward * cosine + level * sine
    rotations = UNREAL_FROM_WORLD.T @ np.stack([right, -up, forward], axis=2)
    return poses(rotations, np.asarray(location) / CENTIMETRES_PER_METRE @ UNREAL_FROM_WORLD)


def to_camera_track(camera_to_world: Floats) -> tuple[Floats, Floats]:
    """MemoBench's `camera_full*.csv`: [N, 3] location and [N, 3] angles about x, y, z in radians.

    Its reader turns clockwise for positive angles (as left-handed systems do), about x, then y, then z, and takes the
    camera's axes as x right, y up, z backward. The world, and metres, stay ours: the reader does not convert them, and
    so it finds the same poses here as in `poses.npy`.
    """
    turns = Rotation.from_matrix(camera_to_world[:, :3, :3] @ OPENCV_FROM_OPENGL)
    return camera_to_world[:, :3, 3] + 0.0, -np.asarray(turns.as_euler("xyz")) + 0.0


def from_camera_track(location: Floats, radians: Floats) -> Floats:
    """Camera to world, from the rows of `camera_full*.csv`."""
    turns = Rotation.from_euler("xyz", -np.asarray(radians)).as_matrix()
    return poses(turns @ OPENCV_FROM_OPENGL, location)


def to_first_camera(camera_to_world: Floats, first: Floats) -> Floats:
    """WRBench: camera to the camera of the first frame, OpenCV axes, metres; the first pose is the identity."""
    return np.asarray(inverse(first[None]) @ camera_to_world)


def from_first_camera(relative: Floats, first: Floats) -> Floats:
    """Camera to world, from poses in the axes of the first camera."""
    return np.asarray(first @ relative)


def yaw_degrees(relative: Floats) -> Floats:
    """WRBench's yaw, [N], of poses in the axes of the first camera: left is negative, right is positive."""
    return np.degrees(np.arctan2(relative[:, 0, 2], relative[:, 0, 0]))
