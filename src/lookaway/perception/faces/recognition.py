"""Tells faces apart: a vector of each, near to those of the same person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from lookaway.core import Floats, Pixels


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A network on aligned faces, red first; `(byte - mean) / scale` goes in."""

    session: Any
    mean: float
    scale: float

    def __call__(self, faces: Sequence[Pixels]) -> Floats:
        """[faces, channels], each of length 1."""
        name = self.session.get_inputs()[0].name
        vectors = np.zeros((len(faces), self.session.get_outputs()[0].shape[-1]), np.float32)
        # One at a time: some exports take no more.
        for row, face in enumerate(faces):
            batch = (face.transpose(2, 0, 1)[None].astype(np.float32) - self.mean) / self.scale
            vector = self.session.run(None, {name: batch})[0][0]
            vectors[row] = vector / np.linalg.norm(vector)
        return vectors


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
