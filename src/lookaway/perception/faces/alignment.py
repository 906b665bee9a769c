"""Brings a face upright, to the place and size at which networks were trained to see it."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from lookaway.core import Floats, Pixels

SIDE = 112
TEMPLATE = np.array(
    [38.2946 + 51.6963j, 73.5318 + 51.5014j, 56.0252 + 71.7366j, 41.5493 + 92.3655j, 70.7299 + 92.2041j]
)
"""Where the landmarks of a face lie in its aligned picture, x + iy."""


def aligned(cv2: ModuleType, picture: Pixels, landmarks: Floats) -> Pixels:
    """[112, 112, 3]: turned, scaled and moved so that the landmarks lie nearest to the template."""
    points = landmarks[:, 0] + 1j * landmarks[:, 1]
    spread, template = points - points.mean(), TEMPLATE - TEMPLATE.mean()
    # In complex numbers a turn with a scale is one factor, and least squares give it in closed form.
    turn = np.vdot(spread, template) / np.vdot(spread, spread).real
    shift = TEMPLATE.mean() - turn * points.mean()
    matrix = np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])
    face: Pixels = cv2.warpAffine(picture, matrix, (SIDE, SIDE), flags=cv2.INTER_LINEAR)
    return face
