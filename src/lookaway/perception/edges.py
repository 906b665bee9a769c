"""Edges of a picture, which outlive another light and another look."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from lookaway.core import Floats, Pixels

BLUR = 1.5
MAX_EDGE = 4.0


def edges(cv2: ModuleType, pixels: Pixels, surroundings: float) -> Floats:
    """[H, W] gradients relative to those around them; `surroundings` is how far around, in pixels."""
    grey = cv2.GaussianBlur(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), BLUR)
    gradients = np.hypot(cv2.Sobel(grey, cv2.CV_32F, 1, 0), cv2.Sobel(grey, cv2.CV_32F, 0, 1))
    around = cv2.GaussianBlur(gradients, (0, 0), surroundings)
    return np.asarray(np.minimum(gradients / (around + 1), MAX_EDGE), np.float32)
