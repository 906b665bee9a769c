"""Mean lightness and colour of each frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Extractor, Feature, Features, Frame, FrameRequest, Rollout, Timeline
from lookaway.perception.opencv import load_opencv

_SRGB = np.arange(256) / 255
LINEAR = np.where(_SRGB <= 0.04045, _SRGB / 12.92, ((_SRGB + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""Light of each of the 256 values of an sRGB channel."""


@dataclass(frozen=True, slots=True)
class LabMeans:
    """Spatial means of L* (0 to 100), a* and b* of every frame."""

    name: ClassVar[str] = "lab_means"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless",)
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 24.0
    arrays: ClassVar[Mapping[str, str]] = {"lab": "float64 [frames, 3]: means of L*, a* and b*"}
    needs: ClassVar[Mapping[str, Extractor]] = {}

    height: Annotated[int, "frame height at which means are taken"] = 240

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do."""
        return None

    def load(self) -> _LoadedLab:
        """Import OpenCV."""
        return _LoadedLab(self, load_opencv())


@dataclass(frozen=True, slots=True)
class _LoadedLab:
    recipe: LabMeans
    cv2: ModuleType

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _LabExtraction:
        return _LabExtraction(self.cv2, FrameRequest(frozenset(range(timeline.frame_count)), self.recipe.height))


@dataclass(frozen=True, slots=True)
class _LabExtraction:
    cv2: ModuleType
    request: FrameRequest
    means: list[tuple[float, ...]] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        # OpenCV's way from sRGB straight to CIELAB interpolates a coarse table and is off by up to 0.4.
        lab = self.cv2.cvtColor(self.cv2.LUT(frame.pixels, LINEAR), self.cv2.COLOR_LRGB2LAB)
        self.means.append(self.cv2.mean(lab)[:3])

    def finish(self) -> Feature:
        return Feature({"lab": np.array(self.means, np.float64)})
