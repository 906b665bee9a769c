"""Which matches of two frames a rigid scene could have made, whatever the camera did."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.perception.camera_tracking.links import Link

TRIALS = 2000
CONFIDENCE = 0.9999


@dataclass(frozen=True, slots=True, eq=False)
class Epipolar:
    """How well the points of a link obey one epipolar geometry."""

    errors: Floats
    """[M] pixels to the epipolar lines, to first order; infinite where no geometry was found."""
    inliers: NDArray[np.bool_]


def fit_epipolar(cv2: ModuleType, link: Link, tolerance: float) -> Epipolar:
    """The epipolar geometry that most points agree with; it needs no focal length."""
    matrix, _ = cv2.findFundamentalMat(
        link.points_1,
        link.points_2,
        cv2.FM_RANSAC,
        ransacReprojThreshold=tolerance,
        confidence=CONFIDENCE,
        maxIters=TRIALS,
    )
    if matrix is None or matrix.shape != (3, 3):
        return Epipolar(np.full(len(link), np.inf), np.zeros(len(link), np.bool_))
    ones = np.ones((len(link), 1))
    first, second = np.hstack([link.points_1, ones]), np.hstack([link.points_2, ones])
    lines_2, lines_1 = first @ matrix.T, second @ matrix
    slopes = np.sum(lines_1[:, :2] ** 2, axis=1) + np.sum(lines_2[:, :2] ** 2, axis=1)
    errors = np.abs(np.sum(second * lines_2, axis=1)) / np.sqrt(np.maximum(slopes, 1e-18))
    return Epipolar(errors, errors < tolerance)
