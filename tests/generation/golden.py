"""Paths that the models' own trajectory code made."""

from __future__ import annotations

import numpy as np

from lookaway.core import Case, angles_degrees
from lookaway.generation.request import CameraRequest, GenerationRequest
from tests.support.golden import golden_arrays, golden_numbers

LENS = np.array([[420.0, 0, 416], [0, 420, 240], [0, 0, 1]])


def arrays():
    return golden_arrays("controls")


def entries():
    return golden_numbers("controls")["entries"]


def assert_same_path(found, expected):
    """Rotations within 0.01 degrees, centres within 1e-4."""
    assert found.shape == expected.shape
    assert angles_degrees(found[:, :3, :3], expected[:, :3, :3]).max() < 0.01
    assert np.abs(found[:, :3, 3] - expected[:, :3, 3]).max() < 1e-4


def turn(degrees, frames, *, axis=1):
    """Rotations [F, 4, 4] about y (positive is right) or x (positive is up)."""
    poses = np.tile(np.eye(4), (frames, 1, 1))
    for pose, angle in zip(poses, np.radians(degrees), strict=True):
        cosine, sine = np.cos(angle), np.sin(angle)
        if axis == 1:
            pose[:3, :3] = [[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]]
        else:
            pose[:3, :3] = [[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]]
    return poses


def there_and_back(peak=-60.0, frames=81):
    half = np.linspace(0, peak, (frames + 1) // 2)
    return turn(np.concatenate([half, half[-2::-1]]), frames)


def request(poses, *, fps=16.0, size=(832, 480), prompt="a quiet room", case="case"):
    camera = CameraRequest.of(poses, LENS, size, fps)
    return GenerationRequest(case=Case(id=case, subset="all", scene=case, prompt=(prompt,)), camera=camera)
