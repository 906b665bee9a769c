"""Which matches a rigid scene could have made, and whether they show that the camera moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.perception.poses.tracking.focal_prior import WIDEST, FocalPrior
from lookaway.perception.poses.tracking.links import Link, Links
from lookaway.perception.poses.tracking.turning import Turning

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


DATA_DIMENSIONS = 4
"""A match is four numbers."""
TURN, EPIPOLAR = (2, 3), (3, 7)
"""Dimension of the surface on which a model puts the matches, and number of its parameters."""


def preference_for_moving(turn_errors: Floats, epipolar_errors: Floats, noise: float) -> float:
    """How much better a match is explained by epipolar geometry than by a turn, above 0 where the camera moves.

    The difference of Torr's geometric robust information criterion between both models, divided by the number of
    matches: epipolar geometry explains more, and pays for its freedom.
    """
    turn, epipolar = _criterion(turn_errors, *TURN, noise), _criterion(epipolar_errors, *EPIPOLAR, noise)
    return (turn - epipolar) / len(turn_errors)


def _criterion(errors: Floats, dimension: int, parameters: int, noise: float) -> float:
    misfit = np.minimum((errors / noise) ** 2, 2.0 * (DATA_DIMENSIONS - dimension))
    freedom = np.log(DATA_DIMENSIONS) * dimension * len(errors) + np.log(DATA_DIMENSIONS * len(errors)) * parameters
    return float(misfit.sum() + freedom)


MIN_POINTS, MIN_SHARE = 12, 0.3
"""A link of which fewer points, or a smaller share, obey one epipolar geometry is wrong."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Verification:
    """Links without their wrong points, and what the widest of them say."""

    links: tuple[Link, ...]
    wide: tuple[Link, ...]
    """Those between keyframes, over which the picture moved; the ones that a turn explains least come first."""
    preference: float
    """For a camera that moves over one that only turns; 0 where the picture hardly moved."""
    turned: float
    """Share of the points of wide links that a turn explains."""


def verify(cv2: ModuleType, links: Links, turning: Turning, tolerance: float) -> Verification:
    """Fit epipolar geometry to every link, and compare it with the turns."""
    kept, wide, preferences = [], [], []
    for link in links.links:
        epipolar = fit_epipolar(cv2, link, tolerance)
        if epipolar.inliers.sum() < max(MIN_POINTS, MIN_SHARE * len(link)):
            continue
        kept.append(link.keep(epipolar.inliers))
        if links.is_wide(link):
            wide.append(kept[-1])
            errors = epipolar.errors[epipolar.inliers]
            preferences.append(preference_for_moving(turning.errors(kept[-1]), errors, tolerance / 2))
    missed = [_missed(turning.errors(link), tolerance) for link in wide]
    order = np.argsort([-count for count in missed], kind="stable")
    return Verification(
        links=tuple(kept),
        wide=tuple(wide[number] for number in order),
        preference=float(np.mean(preferences)) if preferences else 0.0,
        turned=1 - sum(missed) / max(1, sum(len(link) for link in wide)),
    )


def _missed(errors: Floats, tolerance: float) -> int:
    return int((errors > 2 * tolerance).sum())


MAX_POINTS = 200
"""Points of one link that a focal length is judged by."""
SCANNED_FOCALS = 7
MIN_BETTER = 0.05
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
    links = [link.thinned(MAX_POINTS) for link in links]
    candidates = prior.focal * WIDEST ** np.linspace(-0.75, 0.75, SCANNED_FOCALS)
    counts = [sum(int(fit_essential(cv2, link, focal, tolerance)[1].sum()) for link in links) for focal in candidates]
    best, believed = int(np.argmax(counts)), SCANNED_FOCALS // 2
    is_better = counts[best] - counts[believed] > MIN_BETTER * sum(len(link) for link in links)
    return float(candidates[best if is_better else believed])
