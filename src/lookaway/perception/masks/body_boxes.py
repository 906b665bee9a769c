"""Boxes around the bodies below faces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Extractor, Feature, Features, FramelessExtractor, Rollout, Timeline
from lookaway.perception.masks.grounding_dino_boxes import BOX_ARRAYS


@dataclass(frozen=True, slots=True)
class BodyBoxes(FramelessExtractor):
    """One box for each face, grown to where its body must be and cut at the frame.

    Every face has a box, in the order of the faces: a body is known to be whose by its number in the frame.
    """

    name: ClassVar[str] = "body_boxes"
    of_video: ClassVar[bool] = True
    seconds_per_frame: ClassVar[float] = 0.0001
    bytes_per_frame: ClassVar[float] = 36.0
    arrays: ClassVar[Mapping[str, str]] = BOX_ARRAYS

    faces: Annotated[Extractor, "where faces are: gives `boxes`, `scores`, `frame_indices` and `looked_at`"]
    widths: Annotated[float, "width of a body's box, in widths of the face, centred on it"] = 3.5
    heights: Annotated[float, "height of a body's box, in heights of the face"] = 7.0
    above: Annotated[float, "how far above the face the box begins, in heights of the face"] = 0.5

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Faces."""
        return {"faces": self.faces}

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Grow the boxes of faces."""
        faces = features["faces"]
        left, top, right, bottom = np.asarray(faces["boxes"], np.float64).T
        middle, reach, height = (left + right) / 2, (right - left) * self.widths / 2, bottom - top
        first = top - self.above * height
        boxes = np.stack([middle - reach, first, middle + reach, first + self.heights * height], axis=1)
        kept = {name: faces[name] for name in ("scores", "frame_indices", "looked_at")}
        return Feature({"boxes": boxes.clip(0, 1).astype(np.float32), **kept})
