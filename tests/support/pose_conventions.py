"""Poses of the benchmarks' conventions, converted back to camera to world."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats
from lookaway.world.exports.conventions import (
    CENTIMETRES_PER_METRE,
    OPENCV_FROM_OPENGL,
    UNREAL_FROM_WORLD,
    inverse,
    poses,
)


def from_colmap(quaternions_wxyz: Floats, translations: Floats) -> Floats:
    """Camera to world, from COLMAP's world to camera."""
    turns = Rotation.from_quat(quaternions_wxyz, scalar_first=True)
    return inverse(poses(turns.as_matrix(), translations))


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


def from_camera_track(location: Floats, radians: Floats) -> Floats:
    """Camera to world, from the rows of `camera_full*.csv`."""
    turns = Rotation.from_euler("xyz", -np.asarray(radians)).as_matrix()
    return poses(turns @ OPENCV_FROM_OPENGL, location)


def from_first_camera(relative: Floats, first: Floats) -> Floats:
    """Camera to world, from poses in the axes of the first camera."""
    return np.asarray(first @ relative)
