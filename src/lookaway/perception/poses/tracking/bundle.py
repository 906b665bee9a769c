"""Bundle adjustment: cameras, points and one focal length that agree best with all observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.settings import BundleSettings


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
    scene: SceneEstimate,
    seen: Observations,
    prior: FocalPrior,
    tolerance: float,
    steps: int,
    settings: BundleSettings,
) -> tuple[SceneEstimate, Floats]:
    """The scene that agrees best, and its errors [O] in pixels.

    Levenberg and Marquardt's way with Cauchy's loss; points are eliminated before cameras are solved for.
    """
    prior = prior.tempered(len(seen.cameras))
    cost, damping = _cost(scene, seen, prior, tolerance, settings.nearest), 1e-4
    for _ in range(steps):
        equations = _equations(scene, seen, prior, tolerance, settings.nearest)
        while damping < 1e8:
            moved = _moved(scene, prior, *equations.solve(damping))
            new = _cost(moved, seen, prior, tolerance, settings.nearest)
            if new < cost:
                break
            damping *= 8
        else:
            break
        gain = (cost - new) / cost
        scene, cost, damping = moved, new, max(damping / 8, 1e-10)
        if gain < settings.min_gain:
            break
    return scene, np.linalg.norm(residuals(scene, seen, settings.nearest), axis=1)


def local_points(scene: SceneEstimate, seen: Observations) -> Floats:
    """[O, 3] observed points in the axes of their cameras."""
    turned = np.einsum("oij,oj->oi", scene.rotations[seen.cameras], scene.points[seen.points])
    return np.asarray(turned + scene.shifts[seen.cameras])


def residuals(scene: SceneEstimate, seen: Observations, nearest: float) -> Floats:
    """[O, 2] pixels; far off for points behind the camera."""
    local = local_points(scene, seen)
    is_ahead = local[:, 2] > nearest
    shown = scene.focal * local[:, :2] / np.where(is_ahead, local[:, 2], 1.0)[:, None]
    return np.where(is_ahead[:, None], shown - seen.pixels, 10 * scene.focal)


def _cost(scene: SceneEstimate, seen: Observations, prior: FocalPrior, tolerance: float, nearest: float) -> float:
    squares = np.sum(residuals(scene, seen, nearest) ** 2, axis=1) / tolerance**2
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
    """How residuals change, and how much each counts; observations are the last axis, where products are quick."""

    by_camera: Floats
    """[2, 6, O] turn, then shift, in the axes of the camera."""
    by_point: Floats
    """[2, 3, O]"""
    by_focal: Floats
    """[2, O] by its logarithm."""
    residuals: Floats
    """[2, O]"""
    weights: Floats
    """[O]"""


def _slopes(scene: SceneEstimate, seen: Observations, tolerance: float, nearest: float) -> _Slopes:
    """Derivatives of the residuals."""
    local = local_points(scene, seen)
    x, y, z = np.ascontiguousarray(local.T)
    is_ahead = z > nearest
    scale = np.where(is_ahead, scene.focal / np.where(is_ahead, z, 1.0), 0.0)
    shown_x, shown_y = scale * x / scene.focal, scale * y / scene.focal
    errors = np.where(
        is_ahead, np.stack([scale * x, scale * y]) - np.ascontiguousarray(seen.pixels.T), 10 * scene.focal
    )
    none = np.zeros_like(x)
    by_camera = np.stack(
        [
            np.stack([-scale * shown_x * y, scale * (z + shown_x * x), -scale * y, scale, none, -scale * shown_x]),
            np.stack([-scale * (z + shown_y * y), scale * shown_y * x, scale * x, none, scale, -scale * shown_y]),
        ]
    )
    right, down, ahead = np.ascontiguousarray(scene.rotations[seen.cameras].transpose(1, 2, 0))
    return _Slopes(
        by_camera=by_camera,
        by_point=np.stack([scale * (right - shown_x * ahead), scale * (down - shown_y * ahead)]),
        by_focal=scene.focal * np.stack([shown_x, shown_y]),
        residuals=errors,
        weights=1 / (tolerance**2 + np.sum(errors**2, axis=0)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Normal equations of cameras and focal length, of points, and what ties them."""

    matrix: Floats
    """[C, C]"""
    slope: Floats
    """[C]"""
    ties: Floats
    """[3, C, P]"""
    point_blocks: Floats
    """[P, 3, 3]"""
    point_slopes: Floats
    """[P, 3]"""

    def solve(self, damping: float) -> tuple[Floats, Floats, float]:
        """Steps of cameras [N, 6], of points [P, 3], and of the logarithm of the focal length."""
        diagonal = np.einsum("pii->pi", self.point_blocks)
        inverse = np.linalg.inv(self.point_blocks + (damping * diagonal + 1e-9)[:, :, None] * np.eye(3))
        roots = np.linalg.cholesky((inverse + inverse.transpose(0, 2, 1)) / 2)
        _, size, points = self.ties.shape
        carried = np.empty((size, 3, points))
        for column in range(3):
            carried[:, column] = self.ties[column] * roots[:, column, column]
            for row in range(column + 1, 3):
                carried[:, column] += self.ties[row] * roots[:, row, column]
        flat = carried.reshape(size, -1)
        slopes = np.einsum("pji,pj->ip", roots, self.point_slopes).ravel()
        matrix = self.matrix + np.diag(damping * np.diag(self.matrix) + 1e-9)
        # A matrix times its own transpose takes half the time of any other product.
        step = np.linalg.solve(matrix - flat @ flat.T, -self.slope + flat @ slopes)
        back = self.point_slopes + np.stack([step @ tie for tie in self.ties], axis=1)
        return step[:-1].reshape(-1, 6), -np.einsum("pij,pj->pi", inverse, back), float(step[-1])


def _equations(
    scene: SceneEstimate, seen: Observations, prior: FocalPrior, tolerance: float, nearest: float
) -> _Equations:
    cameras, points = len(scene.rotations), len(scene.points)
    by = _slopes(scene, seen, tolerance, nearest)
    weighted_cameras, weighted_points = by.by_camera * by.weights, by.by_point * by.weights
    matrix, slope = np.zeros((6 * cameras + 1,) * 2), np.zeros(6 * cameras + 1)
    blocks = _sums(_products(weighted_cameras, by.by_camera), seen.cameras, cameras)
    for number, block in enumerate(blocks):
        matrix[6 * number : 6 * number + 6, 6 * number : 6 * number + 6] = block
    edge = _sums(_along(weighted_cameras, by.by_focal), seen.cameras, cameras)
    matrix[:-1, -1] = matrix[-1, :-1] = edge.ravel()
    matrix[-1, -1] = np.sum(by.by_focal**2 * by.weights) + 1 / prior.spread**2
    slope[:-1] = _sums(_along(weighted_cameras, by.residuals), seen.cameras, cameras).ravel()
    slope[-1] = np.sum(by.by_focal * by.residuals * by.weights) + prior.belief(scene.focal) / prior.spread
    ties = np.zeros((3, 6 * cameras + 1, points))
    places = ties.reshape(3, -1)
    for part, values in enumerate(_products(weighted_cameras, by.by_point)):
        places[:, (6 * seen.cameras + part) * points + seen.points] = values
    ties[:, -1] = _sums(_along(weighted_points, by.by_focal), seen.points, points).T
    return _Equations(
        matrix,
        slope,
        ties,
        _sums(_products(weighted_points, by.by_point), seen.points, points),
        _sums(_along(weighted_points, by.residuals), seen.points, points),
    )


def _products(ones: Floats, others: Floats) -> Floats:
    """[I, J, O] over both coordinates of each residual, from [2, I, O] and [2, J, O]."""
    return np.asarray(ones[0, :, None] * others[0] + ones[1, :, None] * others[1])


def _along(ones: Floats, others: Floats) -> Floats:
    """[I, O] over both coordinates of each residual, from [2, I, O] and [2, O]."""
    return np.asarray(ones[0] * others[0] + ones[1] * others[1])


def _sums(values: Floats, groups: Indices, count: int) -> Floats:
    """[count, ...] sums of values [..., O] by group [O]."""
    rows = [np.bincount(groups, row, count) for row in values.reshape(-1, values.shape[-1])]
    return np.asarray(np.stack(rows, axis=1, dtype=np.float64).reshape(count, *values.shape[:-1]))
