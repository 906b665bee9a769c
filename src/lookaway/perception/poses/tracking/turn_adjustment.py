"""Rotations and one focal length that agree best with points of many pairs of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.bundle import cross_matrices
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link

STEPS = 20
MIN_GAIN = 1e-6
BEHIND = 0.05
"""Rays that are carried to a depth below this part of the focal length count as behind the camera."""


@dataclass(frozen=True, slots=True, eq=False)
class TurnAdjustment:
    """Least squares over rotations [N, 3, 3], camera to world, and the logarithm of the focal length, robustly."""

    ends: Indices
    """[L, 2] places of both cameras of each link."""
    starts: Indices
    """[L] where the points of each link begin."""
    points_1: Floats
    points_2: Floats
    """[M, 2]"""
    prior: FocalPrior
    tolerance: float

    @classmethod
    def of(cls, links: Sequence[Link], frames: Sequence[int], prior: FocalPrior, tolerance: float) -> TurnAdjustment:
        """All points of all links, whose frames take places in the order given."""
        place = {frame: number for number, frame in enumerate(frames)}
        return cls(
            ends=np.array([(place[link.first], place[link.second]) for link in links]),
            starts=np.cumsum([0, *(len(link) for link in links[:-1])]),
            points_1=np.concatenate([link.points_1 for link in links]),
            points_2=np.concatenate([link.points_2 for link in links]),
            prior=prior.tempered(sum(len(link) for link in links)),
            tolerance=tolerance,
        )

    def solve(self, rotations: Floats, focal: float) -> tuple[Floats, float]:
        """Levenberg and Marquardt's way."""
        damping, cost = 1e-3, self._cost(rotations, focal)
        for _ in range(STEPS):
            matrix, slope = self._normal_equations(rotations, focal)
            while damping < 1e6:
                step = np.linalg.solve(matrix + damping * np.diag(np.diag(matrix) + 1e-9), -slope)
                moved = rotations @ Rotation.from_rotvec(step[:-1].reshape(-1, 3)).as_matrix()
                stretched = self.prior.bounded(focal * float(np.exp(np.clip(step[-1], -0.3, 0.3))))
                new = self._cost(moved, stretched)
                if new < cost:
                    break
                damping *= 10
            else:
                break
            gain = (cost - new) / cost
            rotations, focal, cost, damping = moved, stretched, new, max(damping / 10, 1e-9)
            if gain < MIN_GAIN:
                break
        return rotations, focal

    def errors(self, rotations: Floats, focal: float) -> Floats:
        """[M] pixels between the points of the second frames and where those of the first are carried."""
        return np.asarray(np.linalg.norm(self._residuals(rotations, focal)[0], axis=1))

    def _residuals(self, rotations: Floats, focal: float) -> tuple[Floats, Floats, Floats]:
        """[M, 2] pixels in the second frames, the carried rays [M, 3], and the turns [M, 3, 3] that carry them."""
        one, two = self.ends.T
        counts = np.diff([*self.starts, len(self.points_1)])
        turns = np.repeat(rotations[two].transpose(0, 2, 1) @ rotations[one], counts, axis=0)
        carried = np.einsum("mij,mj->mi", turns, self._rays(focal))
        # What is carried behind the camera stays finite, with an error that makes it an outlier.
        depth = np.maximum(carried[:, 2], BEHIND * focal)
        return focal * carried[:, :2] / depth[:, None] - self.points_2, carried, turns

    def _rays(self, focal: float) -> Floats:
        return np.column_stack([self.points_1, np.full(len(self.points_1), focal)])

    def _cost(self, rotations: Floats, focal: float) -> float:
        squares = (self.errors(rotations, focal) / self.tolerance) ** 2
        return float(np.sum(np.log1p(squares))) + self.prior.belief(focal) ** 2

    def _normal_equations(self, rotations: Floats, focal: float) -> tuple[Floats, Floats]:
        errors, carried, turns = self._residuals(rotations, focal)
        weights = 1 / (self.tolerance**2 + np.sum(errors**2, axis=1))
        depth = np.where(carried[:, 2] > BEHIND * focal, carried[:, 2], np.inf)
        shown = carried[:, :2] / depth[:, None]
        project = np.zeros((len(errors), 2, 3))
        project[:, 0, 0] = project[:, 1, 1] = focal / depth
        project[:, :, 2] = -focal * shown / depth[:, None]
        by_focal = focal * (shown + np.einsum("mij,mj->mi", project, turns[:, :, 2]))
        by_first = -project @ turns @ cross_matrices(self._rays(focal))
        slopes = np.concatenate([by_first, project @ cross_matrices(carried), by_focal[:, :, None]], axis=2)
        weighted = slopes * weights[:, None, None]
        blocks = np.add.reduceat(np.einsum("mki,mkj->mij", weighted, slopes), self.starts)
        ends = np.add.reduceat(np.einsum("mki,mk->mi", weighted, errors), self.starts)
        matrix, slope = self._gather(blocks, ends, 3 * len(rotations) + 1)
        matrix[-1, -1] += 1 / self.prior.spread**2
        slope[-1] += self.prior.belief(focal) / self.prior.spread
        return matrix, slope

    def _gather(self, blocks: Floats, ends: Floats, size: int) -> tuple[Floats, Floats]:
        matrix, slope = np.zeros((size, size)), np.zeros(size)
        for block, end, (one, two) in zip(blocks, ends, 3 * self.ends, strict=True):
            columns = np.array([one, one + 1, one + 2, two, two + 1, two + 2, size - 1])
            matrix[np.ix_(columns, columns)] += block
            slope[columns] += end
        return matrix, slope
