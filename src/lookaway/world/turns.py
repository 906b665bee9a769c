"""Rotations as quaternions w, x, y, z."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from lookaway.core import Floats


def rotation(quaternions: Floats) -> Rotation:
    """The rotations of [N, 4] quaternions."""
    return Rotation.from_quat(np.asarray(quaternions), scalar_first=True)


def quaternion_from_degrees(turn: Sequence[float]) -> Floats:
    """[4] of rotations about the fixed axes x, then y, then z."""
    return quaternion(Rotation.from_euler("xyz", turn, degrees=True))


def quaternion(turn: Rotation) -> Floats:
    """[4] or [N, 4] with w of at least 0, so that equal rotations have equal numbers."""
    return np.asarray(turn.as_quat(canonical=True, scalar_first=True)) + 0.0


def between_frames(quaternions: Floats, frames: Floats) -> Floats:
    """[M, 4] interpolated from a track [N, 4] at M fractional frames."""
    if len(quaternions) == 1:
        return np.repeat(quaternions, len(frames), axis=0)
    slerp = Slerp(np.arange(len(quaternions)), rotation(quaternions))
    return quaternion(slerp(np.clip(frames, 0, len(quaternions) - 1)))


def steps(cameras: Floats) -> tuple[Rotation, Floats]:
    """Rotation and translation from each camera to the next, in the coordinates of the earlier one: [N-1], [N-1, 3]."""
    rotations = cameras[:, :3, :3]
    turns = Rotation.from_matrix(rotations[:-1].transpose(0, 2, 1) @ rotations[1:])
    moves = np.einsum("nji,nj->ni", rotations[:-1], np.diff(cameras[:, :3, 3], axis=0))
    return turns, moves


def look(position: Sequence[float], yaw_degrees: float, pitch_degrees: float) -> Floats:
    """A camera-to-world matrix: yaw 0 looks along +y, positive yaw turns left; positive pitch looks up."""
    yaw, pitch = np.radians([yaw_degrees, pitch_degrees])
    forward = np.array([-np.sin(yaw) * np.cos(pitch), np.cos(yaw) * np.cos(pitch), np.sin(pitch)])
    right = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = right, np.cross(forward, right), forward, position
    return pose


def project(points: Floats, camera: Floats, intrinsics: Floats) -> tuple[Floats, Floats]:
    """[N, 2] pixels, counted from the corner of the image, and [N] depth of world points [N, 3]."""
    seen = (points - camera[:3, 3]) @ camera[:3, :3]
    depth = seen[:, 2]
    divisor = np.where(depth == 0, np.finfo(float).tiny, depth)
    with np.errstate(over="ignore"):
        return (seen @ intrinsics.T)[:, :2] / divisor[:, None], depth
