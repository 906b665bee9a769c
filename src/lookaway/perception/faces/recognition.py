"""Tells faces apart: a vector of each, near to those of the same person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
