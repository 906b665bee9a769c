"""YuNet: a small detector of faces. Wu, Peng, Yu: YuNet, a tiny millisecond-level face detector, 2023."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from lookaway.core import Floats, Pixels
from lookaway.perception.faces.detection import LANDMARKS, STRIDES, Choice, Found, boxed, cells


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
        found = Found.joined([_found(outputs, side, stride, self.choice.least_score) for stride in STRIDES])
        return self.choice(found).scaled(1 / scale)


def _found(outputs: dict[str, Floats], side: int, stride: int, least_score: float) -> Found:
    """One find a cell, where it is sure enough: a place from its corner, a size as a logarithm, both in cells."""
    kind, there, box, points = (outputs[f"{name}_{stride}"][0] for name in ("cls", "obj", "bbox", "kps"))
    scores = np.sqrt(kind.clip(0, 1) * there.clip(0, 1))[:, 0]
    sure = np.flatnonzero(scores >= least_score)
    cell, box, points = cells(side, stride)[sure], box[sure], points[sure]
    centre, half = cell + box[:, :2], np.exp(box[:, 2:]) / 2
    return Found(
        boxes=np.concatenate([centre - half, centre + half], axis=1) * stride,
        landmarks=(cell[:, None] + points.reshape(-1, LANDMARKS, 2)) * stride,
        scores=scores[sure],
    )
