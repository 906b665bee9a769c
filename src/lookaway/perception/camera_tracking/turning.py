"""The path of a camera that only turns: a rotation for each frame and one focal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats
from lookaway.perception.camera_tracking.focal_prior import WIDEST, FocalPrior
from lookaway.perception.camera_tracking.links import Link
from lookaway.perception.camera_tracking.turn_adjustment import TurnAdjustment
from lookaway.perception.camera_tracking.turn_between import Turn, fit_turn, rays, transfer_errors

MOST_POINTS = 120
"""Points of one link that take part."""
FEWEST_INLIERS = 8
LEAST_SHARE = 0.2
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
    links = [link.thinned(MOST_POINTS) for link in links]
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
    """Of some focal lengths the one under which turns explain the links with the longest ways best."""
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
    order = [n for n in order if counts[n] >= max(FEWEST_INLIERS, LEAST_SHARE * len(links[n]))]
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
