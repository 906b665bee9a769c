"""The path of a camera that only turns: a rotation for each frame and one focal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.settings import TurnSettings
from lookaway.perception.poses.tracking.turn_adjustment import TurnAdjustment


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


def fit_turn(points_1: Floats, points_2: Floats, focal: float, tolerance: float, settings: TurnSettings) -> Turn:
    """The turn that most points agree with: the best of many fits to two points, then fitted to all that agree."""
    rays_1, rays_2 = rays(points_1, focal), rays(points_2, focal)
    samples = _samples(len(rays_1), settings.trials)
    trials = _frames(rays_2[samples]) @ _frames(rays_1[samples]).transpose(0, 2, 1)
    costs = _trial_costs(trials, rays_1, points_2, focal, tolerance, settings.min_depth)
    best = _judge(trials[costs.argmin()], rays_1, points_2, focal, tolerance, settings.min_depth)
    for _ in range(settings.refinements):
        if best.inliers.sum() < 2:
            break
        rotation = nearest_rotation(rays_2[best.inliers].T @ rays_1[best.inliers])
        refined = _judge(rotation, rays_1, points_2, focal, tolerance, settings.min_depth)
        if refined.cost >= best.cost:
            break
        best = refined
    return best


@cache
def _samples(points: int, trials: int) -> Indices:
    """[2, T] pairs of points for the trials, the same whenever there are as many."""
    samples = np.random.default_rng(0).integers(points, size=(2, trials))
    return samples[:, samples[0] != samples[1]]


def _trial_costs(
    rotations: Floats, rays_1: Floats, points_2: Floats, focal: float, tolerance: float, min_depth: float
) -> Floats:
    """[T] the cost of each of many rotations [T, 3, 3], with the points along the last axis, where sums are quick.

    In single precision: the best is judged again.
    """
    turns, points_2 = rotations.astype(np.float32), points_2.astype(np.float32)
    carried = (turns.reshape(-1, 3) @ rays_1.T.astype(np.float32)).reshape(len(turns), 3, len(rays_1))
    across, down, depth = carried[:, 0], carried[:, 1], carried[:, 2]
    is_behind = depth <= min_depth
    depth[is_behind] = 1.0
    # In place, since fetching memory for every step would take longer than the steps.
    np.divide(np.float32(focal), depth, out=depth)
    for part, points in ((across, points_2[:, 0]), (down, points_2[:, 1])):
        part *= depth
        part -= points
        part *= part
    across += down
    across[is_behind] = np.inf
    return np.asarray(np.minimum(across, tolerance**2, out=across).mean(axis=1))


def rays(points: Floats, focal: float) -> Floats:
    """[M, 3] unit rays through points [M, 2]."""
    through = np.column_stack([points, np.full(len(points), focal)])
    return np.asarray(through / np.linalg.norm(through, axis=1, keepdims=True))


def transfer_errors(rotations: Floats, rays_1: Floats, points_2: Floats, focal: float, min_depth: float) -> Floats:
    """[..., M] pixels between points [M, 2] and where rotations [..., 3, 3] carry rays [M, 3]."""
    carried = rays_1 @ np.swapaxes(rotations, -1, -2)
    depth = carried[..., 2]
    is_ahead = depth > min_depth
    shown = focal * carried[..., :2] / np.where(is_ahead, depth, 1.0)[..., None]
    return np.where(is_ahead, np.linalg.norm(shown - points_2, axis=-1), np.inf)


def nearest_rotation(matrix: Floats) -> Floats:
    """The rotation nearest to a matrix [3, 3]."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right)


def _judge(
    rotation: Floats, rays_1: Floats, points_2: Floats, focal: float, tolerance: float, min_depth: float
) -> Turn:
    errors = transfer_errors(rotation, rays_1, points_2, focal, min_depth)
    return Turn(rotation, errors, float(_cost(errors, tolerance)), errors < tolerance)


def _cost(errors: Floats, tolerance: float) -> Floats:
    return np.asarray(np.mean(np.minimum(errors / tolerance, 1.0) ** 2, axis=-1))


def _frames(pairs: Floats) -> Floats:
    """[N, 3, 3] axes that two rays [2, N, 3] span, as columns."""
    # Components as rows: sums along long rows are quick, and `np.cross` is slow.
    ones, others = np.ascontiguousarray(pairs.transpose(0, 2, 1))
    middle, normal = (_unit(axis) for axis in (ones + others, _cross(ones, others)))
    return np.stack([middle, _cross(normal, middle), normal]).transpose(2, 1, 0)


def _unit(vectors: Floats) -> Floats:
    """[3, N] of length 1."""
    return np.asarray(vectors / np.maximum(np.sqrt(np.einsum("ij,ij->j", vectors, vectors)), 1e-12))


def _cross(ones: Floats, others: Floats) -> Floats:
    """[3, N] cross products of vectors [3, N]."""
    (a, b, c), (d, e, f) = ones, others
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Turning:
    """Where a camera that only turns looked."""

    rotations: dict[int, Floats]
    """[3, 3] camera to world of each frame that could be linked to the first of its piece."""
    pieces: dict[int, int]
    """The piece of each of these frames: no link joins two pieces, and each is in axes of its own."""
    focal: float
    error: float
    """Median distance in pixels of the points that agree."""
    inliers: int
    matches: int

    def errors(self, link: Link, settings: TurnSettings) -> Floats:
        """[M] pixels by which the turns miss the points of a link; infinite where a frame could not be linked."""
        if not self.is_linked(link):
            return np.full(len(link), np.inf)
        turn = self.rotations[link.second].T @ self.rotations[link.first]
        return transfer_errors(turn, rays(link.points_1, self.focal), link.points_2, self.focal, settings.min_depth)

    def is_linked(self, link: Link) -> bool:
        """Whether both frames of a link belong to one piece."""
        return link.first in self.pieces and self.pieces[link.first] == self.pieces.get(link.second)


def fit_turning(
    links: Sequence[Link],
    prior: FocalPrior,
    tolerance: float,
    settings: TurnSettings,
    *,
    starts: Sequence[int],
    min_frames: int,
) -> Turning:
    """Rotations and a focal length that agree with most points of all links.

    A piece begins at each of the starts that no piece before it has reached, and has at least `min_frames` frames.
    """
    links = [link.thinned(settings.max_points) for link in links]
    focal = _rough_focal(links, prior, tolerance, settings)
    for _ in range(settings.rounds):
        # Twice the tolerance, since the focal length is still rough.
        turns = [fit_turn(link.points_1, link.points_2, focal, 2 * tolerance, settings) for link in links]
        rotations, pieces = _along_the_best_links(links, turns, settings, starts, min_frames)
        frames = sorted(rotations)
        linked = [link for link in links if link.first in pieces and pieces[link.first] == pieces.get(link.second)]
        if not linked:
            return Turning(rotations=rotations, pieces=pieces, focal=focal, error=0.0, inliers=0, matches=0)
        adjustment = TurnAdjustment.of(linked, frames, prior, tolerance, settings.adjustment)
        before = focal
        solved, focal = adjustment.solve(np.stack([rotations[frame] for frame in frames]), focal)
        if abs(np.log(focal / before)) < settings.settled:
            break
    errors = adjustment.errors(solved, focal)
    agree = errors < 2 * tolerance
    axes = {pieces[frame]: rotation for frame, rotation in zip(frames[::-1], solved[::-1], strict=True)}
    return Turning(
        rotations={frame: axes[pieces[frame]].T @ rotation for frame, rotation in zip(frames, solved, strict=True)},
        pieces=pieces,
        focal=focal,
        error=float(np.median(errors[agree])) if agree.any() else 0.0,
        inliers=int(agree.sum()),
        matches=len(errors),
    )


def _rough_focal(links: Sequence[Link], prior: FocalPrior, tolerance: float, settings: TurnSettings) -> float:
    """The focal length of several under which turns explain the longest links best."""
    longest = sorted(links, key=lambda link: -link.shift)[: settings.scanned_links]
    candidates = prior.focal * prior.widest ** np.linspace(-0.9, 0.9, settings.scanned_focals)
    costs = [
        sum(fit_turn(link.points_1, link.points_2, focal, 4 * tolerance, settings).cost for link in longest)
        + 0.01 * prior.belief(focal) ** 2
        for focal in candidates
    ]
    return float(candidates[int(np.argmin(costs))])


def _along_the_best_links(
    links: Sequence[Link], turns: Sequence[Turn], settings: TurnSettings, starts: Sequence[int], min_frames: int
) -> tuple[dict[int, Floats], dict[int, int]]:
    """Camera to world, and the piece, of each frame that can be reached from a start.

    Each is reached by the link that most points support.
    """
    rotations: dict[int, Floats] = {}
    pieces: dict[int, int] = {}
    counts = [int(turn.inliers.sum()) for turn in turns]
    order = sorted(range(len(links)), key=lambda number: -counts[number])
    order = [n for n in order if counts[n] >= max(settings.min_inliers, settings.min_share * len(links[n]))]
    seen: set[int] = set()
    for start in starts:
        if start in seen:
            continue
        reached = _reached(start, links, turns, order)
        seen |= reached.keys()
        if len(reached) >= min_frames:
            pieces |= dict.fromkeys(reached, len(set(pieces.values())))
            rotations |= reached
    return rotations, pieces


def _reached(start: int, links: Sequence[Link], turns: Sequence[Turn], order: Sequence[int]) -> dict[int, Floats]:
    rotations: dict[int, Floats] = {start: np.eye(3)}
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
