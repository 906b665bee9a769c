"""How a camera of known focal length moved between two frames."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.perception.camera_tracking.focal_prior import WIDEST, FocalPrior
from lookaway.perception.camera_tracking.links import Link

CONFIDENCE = 0.9999
MOST_POINTS = 200
"""Points of one link that a focal length is judged by."""
SCANNED_FOCALS = 7
LEAST_BETTER = 0.05
"""A focal length must explain this share of the points more than the believed one."""


def fit_essential(cv2: ModuleType, link: Link, focal: float, tolerance: float) -> tuple[Floats, NDArray[Any]]:
    """The essential matrix [3, 3] that most points agree with, and a mask [M, 1] of those: none where there is none."""
    camera = np.diag([focal, focal, 1.0])
    matrix, mask = cv2.findEssentialMat(
        link.points_1, link.points_2, camera, method=cv2.RANSAC, prob=CONFIDENCE, threshold=tolerance
    )
    if matrix is None or matrix.shape != (3, 3):
        return np.zeros((3, 3)), np.zeros((len(link), 1), np.uint8)
    return matrix, mask


def rough_focal(cv2: ModuleType, links: Sequence[Link], prior: FocalPrior, tolerance: float) -> float:
    """The focal length with which essential matrices explain most points of some links.

    The believed one, unless another is clearly better: many motions fit any focal length equally well.
    """
    links = [link.thinned(MOST_POINTS) for link in links]
    candidates = prior.focal * WIDEST ** np.linspace(-0.75, 0.75, SCANNED_FOCALS)
    counts = [sum(int(fit_essential(cv2, link, focal, tolerance)[1].sum()) for link in links) for focal in candidates]
    best, believed = int(np.argmax(counts)), SCANNED_FOCALS // 2
    is_better = counts[best] - counts[believed] > LEAST_BETTER * sum(len(link) for link in links)
    return float(candidates[best if is_better else believed])
