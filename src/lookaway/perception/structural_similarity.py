"""How alike two pictures are around every pixel."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from lookaway.core import Floats

STEADY_MEAN, STEADY_CONTRAST = (0.01 * 255) ** 2, (0.03 * 255) ** 2
"""What keeps quotients finite where pictures are black or flat, as Wang et al. (2004) choose it for 8 bits."""


def structural_similarity(cv2: ModuleType, first: Floats, second: Floats, *, window: int, sigma: float) -> Floats:
    """[height, width] SSIM of two grey pictures from 0 to 255, by moments under a gaussian window of `window` pixels.

    Within half a window of the edges, pictures go on as mirrored.
    """

    def mean(picture: Floats) -> Floats:
        found: Floats = cv2.GaussianBlur(picture, (window, window), sigma, borderType=cv2.BORDER_REFLECT_101)
        return found

    # In double precision: variances are small differences of large squares.
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    mean_1, mean_2 = mean(one), mean(other)
    variance_1, variance_2 = mean(one * one) - mean_1**2, mean(other * other) - mean_2**2
    covariance = mean(one * other) - mean_1 * mean_2
    luminance = (2 * mean_1 * mean_2 + STEADY_MEAN) / (mean_1**2 + mean_2**2 + STEADY_MEAN)
    structure = (2 * covariance + STEADY_CONTRAST) / (variance_1 + variance_2 + STEADY_CONTRAST)
    return np.asarray(luminance * structure)
