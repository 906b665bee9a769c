"""Converts poses to the conventions of the benchmarks.

Ours: camera to world, [N, 4, 4], in metres; camera axes x right, y down, z forward (OpenCV); world axes right-handed, z
up.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats

CENTIMETRES_PER_METRE = 100.0
OPENCV_FROM_OPENGL = np.diag([1.0, -1.0, -1.0])
"""Converts camera axes x right, y up, z backward to x right, y down, z forward, and back."""
UNREAL_FROM_WORLD = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Our y, along which a camera with yaw 0 looks, is Unreal's x; our x, its right, is Unreal's y. A reflection."""


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


def to_unreal(camera_to_world: Floats) -> tuple[Floats, Floats]:
    """Unreal Engine: left-handed, x forward, y right, z up, centimetres; [N, 3] location and [N, 3] roll, pitch, yaw.

    Angles are degrees. Positive yaw turns right, positive pitch looks up, positive roll lowers the right side. A
    camera that looks along our +y has yaw 0; one that is a metre to its right has y = 100.
    """
    rotations = UNREAL_FROM_WORLD @ camera_to_world[:, :3, :3]
    right, down, forward = (rotations[:, :, axis] for axis in range(3))
    roll = np.arctan2(-right[:, 2], -down[:, 2])
    pitch = np.arctan2(forward[:, 2], np.hypot(forward[:, 0], forward[:, 1]))
    yaw = np.arctan2(forward[:, 1], forward[:, 0])
    location = camera_to_world[:, :3, 3] @ UNREAL_FROM_WORLD.T * CENTIMETRES_PER_METRE
    return location + 0.0, np.degrees(np.stack([roll, pitch, yaw], axis=1)) + 0.0


def to_camera_track(camera_to_world: Floats) -> tuple[Floats, Floats]:
    """MemoBench's `camera_full*.csv`: [N, 3] location and [N, 3] angles about x, y, z in radians.

    Its reader rotates clockwise for positive angles (as in left-handed systems), about x, then y, then z, and takes the
    camera axes as x right, y up, z backward. World axes and metres stay ours, since the reader does not convert them.
    """
    turns = Rotation.from_matrix(camera_to_world[:, :3, :3] @ OPENCV_FROM_OPENGL)
    return camera_to_world[:, :3, 3] + 0.0, -np.asarray(turns.as_euler("xyz")) + 0.0


def to_first_camera(camera_to_world: Floats, first: Floats) -> Floats:
    """WRBench: camera to the camera of the first frame, OpenCV axes, metres; the first pose is the identity."""
    return np.asarray(inverse(first[None]) @ camera_to_world)


def yaw_degrees(relative: Floats) -> Floats:
    """WRBench's yaw, [N], of poses in the axes of the first camera: left is negative, right is positive."""
    return np.degrees(np.arctan2(relative[:, 0, 2], relative[:, 0, 0]))
