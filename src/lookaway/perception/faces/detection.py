"""What detectors of faces have in common: a square input, cells of three strides, and overlapping finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Pixels

STRIDES = (8, 16, 32)
LANDMARKS = 5
"""Eyes, tip of the nose, corners of the mouth; of each two, that on the left of the picture first."""


@dataclass(frozen=True, slots=True)
class Found:
    """Faces of one picture, in its pixels, the surest first."""

    boxes: Floats
    """[faces, 4]: left, top, right, bottom."""
    landmarks: Floats
    """[faces, 5, 2]"""
    scores: Floats
    """[faces]"""

    def __getitem__(self, rows: NDArray[Any] | slice) -> Found:
        return Found(self.boxes[rows], self.landmarks[rows], self.scores[rows])

    @classmethod
    def joined(cls, parts: Sequence[Found]) -> Found:
        """All of several."""
        boxes, landmarks, scores = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("boxes", "landmarks", "scores")
        )
        return cls(boxes, landmarks, scores)

    def scaled(self, factor: float) -> Found:
        """In pixels of another size."""
        return Found(self.boxes * factor, self.landmarks * factor, self.scores)


Detector: TypeAlias = Callable[[Pixels], Found]
"""Faces of a picture of any size."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which finds of a detector are faces."""

    min_score: float
    max_overlap: float
    max_faces: int

    def __call__(self, found: Found) -> Found:
        """The surest of those that cover each other."""
        sure = found[found.scores >= self.min_score]
        left = sure[np.argsort(-sure.scores, kind="stable")]
        kept: list[Found] = []
        while len(left.scores) and len(kept) < self.max_faces:
            kept.append(left[:1])
            left = left[_overlaps(left.boxes[0], left.boxes) <= self.max_overlap]
        return Found.joined(kept) if kept else left[:0]


def cells(side: int, stride: int) -> Floats:
    """[cells, 2]: column and row of each cell of a square input, row by row."""
    count = side // stride
    rows, columns = np.divmod(np.arange(count * count), count)
    return np.stack([columns, rows], axis=1).astype(np.float32)


def boxed(cv2: ModuleType, picture: Pixels, side: int) -> tuple[Pixels, float]:
    """A picture scaled to fit a square, black to the right of it or below; and by how much it was scaled."""
    scale = side / max(picture.shape[:2])
    height, width = (min(side, max(1, round(length * scale))) for length in picture.shape[:2])
    square = np.zeros((side, side, 3), np.uint8)
    square[:height, :width] = cv2.resize(picture, (width, height), interpolation=cv2.INTER_LINEAR)
    return square, scale


def _overlaps(box: Floats, boxes: Floats) -> Floats:
    """[boxes]: shared area over joint area; above 1 for the box itself, so that it always goes, even without area."""
    width, height = (
        np.maximum(0, np.minimum(box[end], boxes[:, end]) - np.maximum(box[end - 2], boxes[:, end - 2]))
        for end in (2, 3)
    )
    shared = width * height
    area, areas = (box[2] - box[0]) * (box[3] - box[1]), (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    joint = np.maximum(area + areas - shared, np.finfo(np.float32).tiny)
    overlaps: Floats = shared / joint
    overlaps[0] = 2
    return overlaps


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
        found = [_scrfd_faces(level, self.side, stride) for level, stride in zip(levels, STRIDES, strict=True)]
        return self.choice(Found.joined(found)).scaled(1 / scale)


def _scrfd_faces(level: Sequence[Floats], side: int, stride: int) -> Found:
    """Distances in cells from the corner of the cell: to the four sides, and to the landmarks."""
    scores, sides, points = level
    cell = np.repeat(cells(side, stride), ANCHORS, axis=0)
    sides = sides.reshape(-1, 4)
    return Found(
        boxes=np.concatenate([cell - sides[:, :2], cell + sides[:, 2:]], axis=1) * stride,
        landmarks=(cell[:, None] + points.reshape(-1, LANDMARKS, 2)) * stride,
        scores=scores.reshape(-1),
    )


@dataclass(frozen=True, slots=True)
class Yunet:
    """Finds faces in a picture that is scaled to fit the square that the network was exported with."""

    cv2: ModuleType
    session: Any
    choice: Choice

    def __call__(self, picture: Pixels) -> Found:
        """The faces of a picture."""
        network_input = self.session.get_inputs()[0]
        side = int(network_input.shape[-1])
        square, scale = boxed(self.cv2, picture, side)
        blue_first = np.ascontiguousarray(square.transpose(2, 0, 1)[::-1], np.float32)[None]
        names = [output.name for output in self.session.get_outputs()]
        outputs = dict(zip(names, self.session.run(names, {network_input.name: blue_first}), strict=True))
        found = Found.joined([_yunet_faces(outputs, side, stride, self.choice.min_score) for stride in STRIDES])
        return self.choice(found).scaled(1 / scale)


def _yunet_faces(outputs: dict[str, Floats], side: int, stride: int, min_score: float) -> Found:
    """One find a cell, where it is sure enough: a place from its corner, a size as a logarithm, both in cells."""
    kind, there, box, points = (outputs[f"{name}_{stride}"][0] for name in ("cls", "obj", "bbox", "kps"))
    scores = np.sqrt(kind.clip(0, 1) * there.clip(0, 1))[:, 0]
    sure = np.flatnonzero(scores >= min_score)
    cell, box, points = cells(side, stride)[sure], box[sure], points[sure]
    centre, half = cell + box[:, :2], np.exp(box[:, 2:]) / 2
    return Found(
        boxes=np.concatenate([centre - half, centre + half], axis=1) * stride,
        landmarks=(cell[:, None] + points.reshape(-1, LANDMARKS, 2)) * stride,
        scores=scores[sure],
    )
