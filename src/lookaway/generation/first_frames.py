"""Whether an output starts with the picture that the model was given, however it was resized, cropped or encoded."""

from __future__ import annotations

from typing import Final

import numpy as np

from lookaway.core import Floats, Pixels
from lookaway.perception.opencv import load_opencv

SIZE: Final = (64, 36)
ALIKE: Final = 0.7
"""Least correlation of two small copies of one picture: 0.997 or more between real outputs and the pictures that they
were made from, 0.76 or more for other sizes, crops to another shape, strong compression, noise, blur and other colours;
at most 0.697 between different scenes."""
CONTRAST: Final = 4.0
"""Least standard deviation, in levels, of a picture that another one can be told from."""


def is_same_picture(given: Pixels, shown: Pixels) -> bool:
    """Whether a frame shows a picture, stretched to its shape or cut to it; a picture without contrast is any other."""
    height, width = shown.shape[:2]
    frame = _small(shown)
    return any(_correlation(_small(copy), frame) >= ALIKE for copy in (given, _cut(given, width / height)))


def _cut(picture: Pixels, aspect: float) -> Pixels:
    """The middle of a picture, as wide and high as an aspect allows."""
    height, width = picture.shape[:2]
    kept_width, kept_height = min(width, max(1, round(height * aspect))), min(height, max(1, round(width / aspect)))
    left, top = (width - kept_width) // 2, (height - kept_height) // 2
    return picture[top : top + kept_height, left : left + kept_width]


def _small(picture: Pixels) -> Floats:
    cv2 = load_opencv()
    small = cv2.resize(np.ascontiguousarray(picture), SIZE, interpolation=cv2.INTER_AREA).astype(np.float64)
    # A shift by a pixel of the model's own size is no other picture.
    return np.asarray(cv2.GaussianBlur(small, (0, 0), 1.0))


def _correlation(first: Floats, second: Floats) -> float:
    first, second = first - first.mean(axis=(0, 1)), second - second.mean(axis=(0, 1))
    if min(first.std(), second.std()) < CONTRAST:
        return 1.0
    return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))
