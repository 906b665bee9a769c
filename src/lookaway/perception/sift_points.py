"""Points of a picture that can be found again in another."""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats


def sift_points(cv2: ModuleType, pixels: NDArray[np.uint8], most: int) -> tuple[Floats, Floats]:
    """The strongest SIFT points [P, 2] in pixels from the corner, and their descriptors [P, 128], strongest first."""
    # OpenCV's default way to double the image moves every point by a quarter of a pixel.
    sift = cv2.SIFT_create(nfeatures=most, enable_precise_upscale=True)
    keypoints, descriptors = sift.detectAndCompute(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), None)
    if descriptors is None:
        return np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32)
    strongest = np.argsort([-point.response for point in keypoints], kind="stable")[:most]
    # OpenCV counts from the centre of the first pixel.
    return np.array([keypoints[index].pt for index in strongest], np.float32) + 0.5, descriptors[strongest]
