"""Mean lightness and colour of each frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lookaway.core import Frame, FrameExtractor, FrameFunction
from lookaway.perception.opencv import load_opencv

_SRGB = np.arange(256) / 255
LINEAR = np.where(_SRGB <= 0.04045, _SRGB / 12.92, ((_SRGB + 0.055) / 1.055) ** 2.4).astype(np.float32)
"""Light of each of the 256 values of an sRGB channel."""


@dataclass(frozen=True, slots=True)
class LabMeans(FrameExtractor):
    """Spatial means of L* (0 to 100), a* and b* of every frame, and its time."""

    name: ClassVar[str] = "lab_means"
    version: ClassVar[int] = 2
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless",)
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 32.0
    arrays: ClassVar[Mapping[str, str]] = {
        "lab": "float64 [frames, 3]: means of L*, a* and b*",
        "times_seconds": "float64 [frames]: when each frame is shown",
    }

    height: Annotated[int, "frame height at which means are taken"] = 240

    def load_function(self) -> FrameFunction:
        """Import OpenCV."""
        cv2 = load_opencv()

        def extract(frame: Frame) -> dict[str, ArrayLike]:
            # OpenCV's way from sRGB straight to CIELAB interpolates a coarse table and is off by up to 0.4.
            lab = cv2.cvtColor(cv2.LUT(frame.pixels, LINEAR), cv2.COLOR_LRGB2LAB)
            return {"lab": cv2.mean(lab)[:3], "times_seconds": frame.time_seconds}

        return extract
