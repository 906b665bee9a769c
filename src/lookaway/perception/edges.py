"""Edges of a picture, which outlive another light and another look."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated

import numpy as np

from lookaway.core import Floats, Pixels


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """How edges are told from what is around them."""

    surroundings: Annotated[float, "pixels around an edge that it is compared with"]
    blur: Annotated[float, "pixels by which a picture is smoothed first"] = 1.5
    largest: Annotated[float, "an edge counts as no stronger than this many times what is around it"] = 4.0


def edges(cv2: ModuleType, pixels: Pixels, by: EdgeFilter) -> Floats:
    """[H, W] gradients relative to those around them."""
    grey = cv2.GaussianBlur(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), by.blur)
    gradients = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    around = cv2.GaussianBlur(gradients, (0, 0), by.surroundings)
    return np.asarray(np.minimum(gradients / (around + 1), by.largest), np.float32)
