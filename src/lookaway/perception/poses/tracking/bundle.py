"""Bundle adjustment: cameras, points and one focal length that agree best with all observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.focal_prior import FocalPrior


def cross_matrices(vectors: Floats) -> Floats:
    """[N, 3, 3] that multiply like the cross product with vectors [N, 3]."""
    matrices = np.zeros((len(vectors), 3, 3))
    matrices[:, 0, 1], matrices[:, 0, 2], matrices[:, 1, 2] = -vectors[:, 2], vectors[:, 1], -vectors[:, 0]
    return np.asarray(matrices - matrices.transpose(0, 2, 1))


NEAREST = 1e-3
"""Points nearer than this count as behind the camera; scenes are scaled to a median depth of 1."""
MIN_GAIN = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class SceneEstimate:
    """Cameras, points and the focal length."""

    rotations: Floats
    """[N, 3, 3] world to camera."""
    shifts: Floats
    """[N, 3] world to camera."""
    points: Floats
    """[P, 3]"""
    focal: float


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Which camera saw which point where."""

    cameras: Indices
    points: Indices
    pixels: Floats
    """[O, 2]"""


def adjust(
    scene: SceneEstimate, seen: Observations, prior: FocalPrior, tolerance: float, steps: int
) -> tuple[SceneEstimate, Floats]:
    """The scene that agrees best, and its errors [O] in pixels.

    Levenberg and Marquardt's way with Cauchy's loss; points are eliminated before cameras are solved for.
    """
    prior = prior.tempered(len(seen.cameras))
    cost, damping = _cost(scene, seen, prior, tolerance), 1e-4
    for _ in range(steps):
        equations = _equations(scene, seen, prior, tolerance)
        while damping < 1e8:
            moved = _moved(scene, prior, *equations.solve(damping))
            new = _cost(moved, seen, prior, tolerance)
            if new < cost:
                break
            damping *= 8
        else:
            break
        gain = (cost - new) / cost
        scene, cost, damping = moved, new, max(damping / 8, 1e-10)
        if gain < MIN_GAIN:
            break
    return scene, np.linalg.norm(residuals(scene, seen), axis=1)


def local_points(scene: SceneEstimate, seen: Observations) -> Floats:
    """[O, 3] observed points in the axes of their cameras."""
    turned = np.einsum("oij,oj->oi", scene.rotations[seen.cameras], scene.points[seen.points])
    return np.asarray(turned + scene.shifts[seen.cameras])


def residuals(scene: SceneEstimate, seen: Observations) -> Floats:
    """[O, 2] pixels; far off for points behind the camera."""
    local = local_points(scene, seen)
    is_ahead = local[:, 2] > NEAREST
    shown = scene.focal * local[:, :2] / np.where(is_ahead, local[:, 2], 1.0)[:, None]
    return np.where(is_ahead[:, None], shown - seen.pixels, 10 * scene.focal)


def _cost(scene: SceneEstimate, seen: Observations, prior: FocalPrior, tolerance: float) -> float:
    squares = np.sum(residuals(scene, seen) ** 2, axis=1) / tolerance**2
    return float(np.sum(np.log1p(squares))) + prior.belief(scene.focal) ** 2


def _moved(
    scene: SceneEstimate, prior: FocalPrior, camera_steps: Floats, point_steps: Floats, stretch: float
) -> SceneEstimate:
    turns = Rotation.from_rotvec(camera_steps[:, :3]).as_matrix()
    shifts = np.einsum("nij,nj->ni", turns, scene.shifts) + camera_steps[:, 3:]
    focal = prior.bounded(scene.focal * float(np.exp(np.clip(stretch, -0.2, 0.2))))
    return SceneEstimate(turns @ scene.rotations, shifts, scene.points + point_steps, focal)


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """How residuals change, and how much each counts."""

    by_camera: Floats
    """[O, 2, 6] turn, then shift, in the axes of the camera."""
    by_point: Floats
    """[O, 2, 3]"""
    by_focal: Floats
    """[O, 2] by its logarithm."""
    residuals: Floats
    weights: Floats


def _slopes(scene: SceneEstimate, seen: Observations, tolerance: float) -> _Slopes:
    """Derivatives of the residuals."""
    errors, local = residuals(scene, seen), local_points(scene, seen)
    depth = np.where(local[:, 2] > NEAREST, local[:, 2], np.inf)
    shown = local[:, :2] / depth[:, None]
    project = np.zeros((len(errors), 2, 3))
    project[:, 0, 0] = project[:, 1, 1] = scene.focal / depth
    project[:, :, 2] = -scene.focal * shown / depth[:, None]
    return _Slopes(
        by_camera=np.concatenate([-project @ cross_matrices(local), project], axis=2),
        by_point=project @ scene.rotations[seen.cameras],
        by_focal=scene.focal * shown,
        residuals=errors,
        weights=1 / (tolerance**2 + np.sum(errors**2, axis=1)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Normal equations of cameras and focal length, of points, and what ties them."""

    matrix: Floats
    """[C, C]"""
    slope: Floats
    """[C]"""
    ties: Floats
    """[C, P, 3]"""
    point_blocks: Floats
    """[P, 3, 3]"""
    point_slopes: Floats
    """[P, 3]"""

    def solve(self, damping: float) -> tuple[Floats, Floats, float]:
        """Steps of cameras [N, 6], of points [P, 3], and of the logarithm of the focal length."""
        diagonal = np.einsum("pii->pi", self.point_blocks)
        inverse = np.linalg.inv(self.point_blocks + (damping * diagonal + 1e-9)[:, :, None] * np.eye(3))
        carried = np.einsum("cpi,pij->cpj", self.ties, inverse)
        size = len(self.slope)
        flat, ties = carried.reshape(size, -1), self.ties.reshape(size, -1)
        matrix = self.matrix + np.diag(damping * np.diag(self.matrix) + 1e-9)
        step = np.linalg.solve(matrix - flat @ ties.T, -self.slope + flat @ self.point_slopes.ravel())
        back = self.point_slopes + np.einsum("cpi,c->pi", self.ties, step)
        return step[:-1].reshape(-1, 6), -np.einsum("pij,pj->pi", inverse, back), float(step[-1])


def _equations(scene: SceneEstimate, seen: Observations, prior: FocalPrior, tolerance: float) -> _Equations:
    cameras, points = len(scene.rotations), len(scene.points)
    by = _slopes(scene, seen, tolerance)
    weighted_cameras, weighted_points = (by_it * by.weights[:, None, None] for by_it in (by.by_camera, by.by_point))
    matrix, slope = np.zeros((6 * cameras + 1,) * 2), np.zeros(6 * cameras + 1)
    blocks = _sums(np.einsum("oki,okj->oij", weighted_cameras, by.by_camera), seen.cameras, cameras)
    for number, block in enumerate(blocks):
        matrix[6 * number : 6 * number + 6, 6 * number : 6 * number + 6] = block
    edge = _sums(np.einsum("oki,ok->oi", weighted_cameras, by.by_focal), seen.cameras, cameras)
    matrix[:-1, -1] = matrix[-1, :-1] = edge.ravel()
    matrix[-1, -1] = np.sum(by.by_focal**2 * by.weights[:, None]) + 1 / prior.spread**2
    slope[:-1] = _sums(np.einsum("oki,ok->oi", weighted_cameras, by.residuals), seen.cameras, cameras).ravel()
    slope[-1] = np.sum(by.by_focal * by.residuals * by.weights[:, None]) + prior.belief(scene.focal) / prior.spread
    ties = np.zeros((cameras, points, 6, 3))
    ties[seen.cameras, seen.points] = np.einsum("oki,okj->oij", weighted_cameras, by.by_point)
    focal_ties = _sums(np.einsum("oki,ok->oi", weighted_points, by.by_focal), seen.points, points)
    return _Equations(
        matrix,
        slope,
        np.concatenate([ties.transpose(0, 2, 1, 3).reshape(6 * cameras, points, 3), focal_ties[None]]),
        _sums(np.einsum("oki,okj->oij", weighted_points, by.by_point), seen.points, points),
        _sums(np.einsum("oki,ok->oi", weighted_points, by.residuals), seen.points, points),
    )


def _sums(values: Floats, groups: Indices, count: int) -> Floats:
    """Sums of values [O, ...] by group [O]."""
    flat = values.reshape(len(values), -1)
    columns = [np.bincount(groups, column, count) for column in flat.T]
    return np.asarray(np.stack(columns, axis=1, dtype=np.float64).reshape(count, *values.shape[1:]))
