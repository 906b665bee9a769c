"""How alike two pictures are around every pixel."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from lookaway.core import Floats

STEADY_MEAN, STEADY_CONTRAST = (0.01 * 255) ** 2, (0.03 * 255) ** 2
"""What keeps quotients finite where pictures are black or flat, as Wang et al. (2004) choose it for 8 bits."""
MIDDLE = 127.5
"""Taken off every pixel before squares are averaged, where single precision would lose the small differences."""
ROWS_AT_ONCE = 64
"""Strips of so many rows stay in the processor's cache."""


def structural_similarity(
    cv2: ModuleType,
    first: NDArray[Any],
    second: NDArray[Any],
    *,
    window: int,
    sigma: float,
    precision: DTypeLike = np.float64,
) -> Floats:
    """SSIM of two pictures from 0 to 255 around every pixel of every channel, in an array of their shape.

    By moments under a gaussian window of `window` pixels. Within half a window of the edges, pictures go on as
    mirrored.
    """

    def mean(picture: Floats) -> Floats:
        found: Floats = cv2.GaussianBlur(picture, (window, window), sigma, borderType=cv2.BORDER_REFLECT_101)
        return found

    # SSIM is a function of the moments of sum and difference alone: four means instead of five, and where pictures are
    # alike, the moments of their difference are exact.
    both: Floats = np.add(first, second, dtype=precision)
    apart: Floats = np.subtract(first, second, dtype=precision)
    both -= 2 * MIDDLE
    mean_both, mean_apart = mean(both), mean(apart)
    variance_both, variance_apart = mean(np.square(both, out=both)), mean(np.square(apart, out=apart))
    variance_both -= np.square(mean_both, out=both)
    level_apart = np.square(mean_apart, out=mean_apart)
    variance_apart -= level_apart
    mean_both += 2 * MIDDLE
    level_both = np.square(mean_both, out=mean_both)

    above, below = np.subtract(level_both, level_apart, out=both), np.add(level_both, level_apart, out=level_both)
    above += 2 * STEADY_MEAN
    below += 2 * STEADY_MEAN
    structure = np.subtract(variance_both, variance_apart, out=apart)
    contrast = np.add(variance_both, variance_apart, out=variance_both)
    structure += 2 * STEADY_CONTRAST
    contrast += 2 * STEADY_CONTRAST
    above *= structure
    below *= contrast
    above /= below
    return above


def mean_structural_similarity(
    cv2: ModuleType, first: NDArray[Any], second: NDArray[Any], *, window: int, sigma: float
) -> float:
    """Mean of SSIM over all pixels and channels, in single precision, a strip of rows at a time."""
    half, height, total = window // 2, len(first), 0.0
    for start in range(0, height, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, height)
        strip = slice(max(0, start - half), min(height, stop + half))
        likeness = structural_similarity(
            cv2, first[strip], second[strip], window=window, sigma=sigma, precision=np.float32
        )
        total += float(likeness[start - strip.start : stop - strip.start].sum(dtype=np.float64))
    return total / first.size
