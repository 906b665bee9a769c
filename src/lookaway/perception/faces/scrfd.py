"""SCRFD: the detector of faces of InsightFace. Guo et al.: Sample and computation redistribution, ICLR 2022."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from lookaway.core import Floats, Pixels
from lookaway.perception.faces.detection import LANDMARKS, STRIDES, Choice, Found, boxed, cells

ANCHORS = 2
"""Finds a cell."""


@dataclass(frozen=True, slots=True)
class Scrfd:
    """Finds faces in a picture that is scaled to fit a square."""

    cv2: ModuleType
    session: Any
    choice: Choice
    side: int

    def __call__(self, picture: Pixels) -> Found:
        """The faces of a picture."""
        square, scale = boxed(self.cv2, picture, self.side)
        batch = (np.ascontiguousarray(square.transpose(2, 0, 1), np.float32)[None] - 127.5) / 128
        # Exports name their outputs differently and all order them alike: scores, boxes, points, each of all strides.
        outputs = self.session.run(None, {self.session.get_inputs()[0].name: batch})
        levels = zip(*(outputs[start : start + len(STRIDES)] for start in range(0, 9, 3)), strict=True)
        found = [_found(level, self.side, stride) for level, stride in zip(levels, STRIDES, strict=True)]
        return self.choice(Found.joined(found)).scaled(1 / scale)


def _found(level: Sequence[Floats], side: int, stride: int) -> Found:
    """Distances in cells from the corner of the cell: to the four sides, and to the landmarks."""
    scores, sides, points = level
    cell = np.repeat(cells(side, stride), ANCHORS, axis=0)
    sides = sides.reshape(-1, 4)
    return Found(
        boxes=np.concatenate([cell - sides[:, :2], cell + sides[:, 2:]], axis=1) * stride,
        landmarks=(cell[:, None] + points.reshape(-1, LANDMARKS, 2)) * stride,
        scores=scores.reshape(-1),
    )
