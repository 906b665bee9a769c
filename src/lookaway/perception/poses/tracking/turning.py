"""The path of a camera that only turns: a rotation for each frame and one focal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.perception.poses.tracking.focal_prior import WIDEST, FocalPrior
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.turn_adjustment import TurnAdjustment

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


MAX_POINTS = 120
"""Points of one link that take part."""
MIN_INLIERS = 8
MIN_SHARE = 0.2
"""A link of which fewer points agree on a turn does not carry one."""
SCANNED_LINKS, SCANNED_FOCALS = 10, 9
ROUNDS = 3
SETTLED = 0.02
"""A focal length that changed by a smaller part is good enough to tell which points agree."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Turning:
    """Where a camera that only turns looked."""

    rotations: dict[int, Floats]
    """[3, 3] camera to world of each frame that could be linked to the first."""
    focal: float
    error: float
    """Median distance in pixels of the points that agree."""
    inliers: int
    matches: int

    def errors(self, link: Link) -> Floats:
        """[M] pixels by which the turns miss the points of a link; infinite where a frame could not be linked."""
        if link.first not in self.rotations or link.second not in self.rotations:
            return np.full(len(link), np.inf)
        turn = self.rotations[link.second].T @ self.rotations[link.first]
        return transfer_errors(turn, rays(link.points_1, self.focal), link.points_2, self.focal)


def fit_turning(links: Sequence[Link], prior: FocalPrior, tolerance: float) -> Turning:
    """Rotations and a focal length that agree with most points of all links."""
    links = [link.thinned(MAX_POINTS) for link in links]
    focal = _rough_focal(links, prior, tolerance)
    for _ in range(ROUNDS):
        # Twice the tolerance, since the focal length is still rough.
        turns = [fit_turn(link.points_1, link.points_2, focal, 2 * tolerance) for link in links]
        rotations = _along_the_best_links(links, turns)
        frames = sorted(rotations)
        linked = [link for link in links if link.first in rotations and link.second in rotations]
        if not linked:
            return Turning(rotations=rotations, focal=focal, error=0.0, inliers=0, matches=0)
        adjustment = TurnAdjustment.of(linked, frames, prior, tolerance)
        before = focal
        solved, focal = adjustment.solve(np.stack([rotations[frame] for frame in frames]), focal)
        if abs(np.log(focal / before)) < SETTLED:
            break
    errors = adjustment.errors(solved, focal)
    agree = errors < 2 * tolerance
    return Turning(
        rotations={frame: solved[0].T @ rotation for frame, rotation in zip(frames, solved, strict=True)},
        focal=focal,
        error=float(np.median(errors[agree])) if agree.any() else 0.0,
        inliers=int(agree.sum()),
        matches=len(errors),
    )


def _rough_focal(links: Sequence[Link], prior: FocalPrior, tolerance: float) -> float:
    """The focal length of several under which turns explain the longest links best."""
    longest = sorted(links, key=lambda link: -link.shift)[:SCANNED_LINKS]
    candidates = prior.focal * WIDEST ** np.linspace(-0.9, 0.9, SCANNED_FOCALS)
    costs = [
        sum(fit_turn(link.points_1, link.points_2, focal, 4 * tolerance).cost for link in longest)
        + 0.01 * prior.belief(focal) ** 2
        for focal in candidates
    ]
    return float(candidates[int(np.argmin(costs))])


def _along_the_best_links(links: Sequence[Link], turns: Sequence[Turn]) -> dict[int, Floats]:
    """Camera to world of each frame that can be reached from the first, each by the link that most points support."""
    rotations: dict[int, Floats] = {0: np.eye(3)}
    counts = [int(turn.inliers.sum()) for turn in turns]
    order = sorted(range(len(links)), key=lambda number: -counts[number])
    order = [n for n in order if counts[n] >= max(MIN_INLIERS, MIN_SHARE * len(links[n]))]
    while True:
        open_ends = (n for n in order if (links[n].first in rotations) != (links[n].second in rotations))
        best = next(open_ends, None)
        if best is None:
            return rotations
        link, turn = links[best], turns[best].rotation
        if link.first in rotations:
            rotations[link.second] = rotations[link.first] @ turn.T
        else:
            rotations[link.first] = rotations[link.second] @ turn
