"""Which matches a rigid scene could have made, and whether they show that the camera moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link, Links
from lookaway.perception.poses.tracking.settings import GeometrySettings, TrackerSettings
from lookaway.perception.poses.tracking.turning import Turning


@dataclass(frozen=True, slots=True, eq=False)
class Epipolar:
    """How well the points of a link obey one epipolar geometry."""

    errors: Floats
    """[M] pixels to the epipolar lines, to first order; infinite where no geometry was found."""
    inliers: NDArray[np.bool_]


def fit_epipolar(cv2: ModuleType, link: Link, tolerance: float, settings: GeometrySettings) -> Epipolar:
    """The epipolar geometry that most points agree with; it needs no focal length."""
    matrix, _ = cv2.findFundamentalMat(
        link.points_1,
        link.points_2,
        cv2.FM_RANSAC,
        ransacReprojThreshold=tolerance,
        confidence=settings.confidence,
        maxIters=settings.trials,
    )
    if matrix is None or matrix.shape != (3, 3):
        return Epipolar(np.full(len(link), np.inf), np.zeros(len(link), np.bool_))
    ones = np.ones((len(link), 1))
    first, second = np.hstack([link.points_1, ones]), np.hstack([link.points_2, ones])
    lines_2, lines_1 = first @ matrix.T, second @ matrix
    slopes = np.sum(lines_1[:, :2] ** 2, axis=1) + np.sum(lines_2[:, :2] ** 2, axis=1)
    errors = np.abs(np.sum(second * lines_2, axis=1)) / np.sqrt(np.maximum(slopes, 1e-18))
    return Epipolar(errors, errors < tolerance)


def preference_for_moving(turn_errors: Floats, epipolar_errors: Floats, noise: float) -> float:
    """How much better a match is explained by epipolar geometry than by a turn, above 0 where the camera moves.

    The difference of Torr's geometric robust information criterion between both models, divided by the number of
    matches: epipolar geometry explains more, and pays for its freedom. A match is four numbers; a turn puts it on a
    surface of 2 dimensions and has 3 parameters, epipolar geometry on one of 3 dimensions, with 7 parameters.
    """
    turn, epipolar = _criterion(turn_errors, 2, 3, noise), _criterion(epipolar_errors, 3, 7, noise)
    return (turn - epipolar) / len(turn_errors)


def _criterion(errors: Floats, dimension: int, parameters: int, noise: float) -> float:
    misfit = np.minimum((errors / noise) ** 2, 2.0 * (4 - dimension))
    freedom = np.log(4) * dimension * len(errors) + np.log(4 * len(errors)) * parameters
    return float(misfit.sum() + freedom)


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


def verify(
    cv2: ModuleType, links: Links, turning: Turning, tolerance: float, settings: TrackerSettings
) -> Verification:
    """Fit epipolar geometry to every link, and compare it with the turns."""
    kept, wide, preferences = [], [], []
    limits, turns = settings.geometry, settings.turns
    for link in links.links:
        epipolar = fit_epipolar(cv2, link, tolerance, limits)
        if epipolar.inliers.sum() < max(limits.min_points, limits.min_share * len(link)):
            continue
        kept.append(link.keep(epipolar.inliers))
        if links.is_wide(link):
            wide.append(kept[-1])
            errors = epipolar.errors[epipolar.inliers]
            preferences.append(preference_for_moving(turning.errors(kept[-1], turns), errors, tolerance / 2))
    missed = [_missed(turning.errors(link, turns), tolerance) for link in wide]
    order = np.argsort([-count for count in missed], kind="stable")
    return Verification(
        links=tuple(kept),
        wide=tuple(wide[number] for number in order),
        preference=float(np.mean(preferences)) if preferences else 0.0,
        turned=1 - sum(missed) / max(1, sum(len(link) for link in wide)),
    )


def _missed(errors: Floats, tolerance: float) -> int:
    return int((errors > 2 * tolerance).sum())


def fit_essential(
    cv2: ModuleType, link: Link, focal: float, tolerance: float, settings: GeometrySettings
) -> tuple[Floats, NDArray[Any]]:
    """The essential matrix [3, 3] that most points agree with, and a mask [M, 1] of those: none where there is none."""
    camera = np.diag([focal, focal, 1.0])
    matrix, mask = cv2.findEssentialMat(
        link.points_1, link.points_2, camera, method=cv2.RANSAC, prob=settings.confidence, threshold=tolerance
    )
    if matrix is None or matrix.shape != (3, 3):
        return np.zeros((3, 3)), np.zeros((len(link), 1), np.uint8)
    return matrix, mask


def rough_focal(
    cv2: ModuleType, links: Sequence[Link], prior: FocalPrior, tolerance: float, settings: GeometrySettings
) -> float:
    """The focal length with which essential matrices explain most points of some links.

    The believed one, unless another is clearly better: many motions fit any focal length equally well.
    """
    links = [link.thinned(settings.max_points) for link in links]
    candidates = prior.focal * prior.widest ** np.linspace(-0.75, 0.75, settings.scanned_focals)
    counts = [
        sum(int(fit_essential(cv2, link, focal, tolerance, settings)[1].sum()) for link in links)
        for focal in candidates
    ]
    best, believed = int(np.argmax(counts)), settings.scanned_focals // 2
    is_better = counts[best] - counts[believed] > settings.min_better * sum(len(link) for link in links)
    return float(candidates[best if is_better else believed])
