"""The turn of the camera between two frames, if it only turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats

TRIALS = 200
REFINEMENTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A rotation of rays, and how well it carries the points of one frame to those of the other."""

    rotation: Floats
    """[3, 3] from rays of the first camera to rays of the second."""
    errors: Floats
    """[M] pixels in the second frame; infinite behind the camera."""
    cost: float
    """Mean squared error, each at most the tolerance squared, as a part of that: 0 is perfect, 1 is nothing."""
    inliers: NDArray[np.bool_]


def fit_turn(points_1: Floats, points_2: Floats, focal: float, tolerance: float) -> Turn:
    """The turn that most points agree with: the best of many fits to two points, then fitted to all that agree."""
    rays_1, rays_2 = rays(points_1, focal), rays(points_2, focal)
    samples = np.random.default_rng(0).integers(len(rays_1), size=(2, TRIALS))
    samples = samples[:, samples[0] != samples[1]]
    trials = _frames(rays_2[samples]) @ _frames(rays_1[samples]).transpose(0, 2, 1)
    costs = _cost(transfer_errors(trials, rays_1, points_2, focal), tolerance)
    best = _judge(trials[costs.argmin()], rays_1, points_2, focal, tolerance)
    for _ in range(REFINEMENTS):
        if best.inliers.sum() < 2:
            break
        rotation = nearest_rotation(rays_2[best.inliers].T @ rays_1[best.inliers])
        refined = _judge(rotation, rays_1, points_2, focal, tolerance)
        if refined.cost >= best.cost:
            break
        best = refined
    return best


def rays(points: Floats, focal: float) -> Floats:
    """[M, 3] unit rays through points [M, 2]."""
    through = np.column_stack([points, np.full(len(points), focal)])
    return np.asarray(through / np.linalg.norm(through, axis=1, keepdims=True))


def transfer_errors(rotations: Floats, rays_1: Floats, points_2: Floats, focal: float) -> Floats:
    """[..., M] pixels between points [M, 2] and where rotations [..., 3, 3] carry rays [M, 3]."""
    carried = rays_1 @ np.swapaxes(rotations, -1, -2)
    depth = carried[..., 2]
    is_ahead = depth > 1e-6
    shown = focal * carried[..., :2] / np.where(is_ahead, depth, 1.0)[..., None]
    return np.where(is_ahead, np.linalg.norm(shown - points_2, axis=-1), np.inf)


def nearest_rotation(matrix: Floats) -> Floats:
    """The rotation nearest to a matrix [3, 3]."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right)


def _judge(rotation: Floats, rays_1: Floats, points_2: Floats, focal: float, tolerance: float) -> Turn:
    errors = transfer_errors(rotation, rays_1, points_2, focal)
    return Turn(rotation, errors, float(_cost(errors, tolerance)), errors < tolerance)


def _cost(errors: Floats, tolerance: float) -> Floats:
    return np.asarray(np.mean(np.minimum(errors / tolerance, 1.0) ** 2, axis=-1))


def _frames(pairs: Floats) -> Floats:
    """[N, 3, 3] axes that two rays [2, N, 3] span, as columns."""
    middle = pairs[0] + pairs[1]
    normal = np.cross(pairs[0], pairs[1])
    middle, normal = (
        axis / np.maximum(np.linalg.norm(axis, axis=1, keepdims=True), 1e-12) for axis in (middle, normal)
    )
    return np.stack([middle, np.cross(normal, middle), normal], axis=-1)
