"""Rotations and one focal length that agree best with points of many pairs of frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Indices
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.settings import AdjustmentSettings


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
    settings: AdjustmentSettings

    @classmethod
    def of(
        cls,
        links: Sequence[Link],
        frames: Sequence[int],
        prior: FocalPrior,
        tolerance: float,
        settings: AdjustmentSettings,
    ) -> TurnAdjustment:
        """All points of all links, whose frames take places in the order given."""
        place = {frame: number for number, frame in enumerate(frames)}
        return cls(
            ends=np.array([(place[link.first], place[link.second]) for link in links]),
            starts=np.cumsum([0, *(len(link) for link in links[:-1])]),
            points_1=np.concatenate([link.points_1 for link in links]),
            points_2=np.concatenate([link.points_2 for link in links]),
            prior=prior.tempered(sum(len(link) for link in links)),
            tolerance=tolerance,
            settings=settings,
        )

    def solve(self, rotations: Floats, focal: float) -> tuple[Floats, float]:
        """Levenberg and Marquardt's way."""
        damping, cost = 1e-3, self._cost(rotations, focal)
        for _ in range(self.settings.steps):
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
            if gain < self.settings.min_gain:
                break
        return rotations, focal

    def errors(self, rotations: Floats, focal: float) -> Floats:
        """[M] pixels between the points of the second frames and where those of the first are carried."""
        return np.asarray(np.sqrt(self._carry(rotations, focal).squares))

    def _carry(self, rotations: Floats, focal: float) -> _Carried:
        one, two = self.ends.T
        turns = rotations[two].transpose(0, 2, 1) @ rotations[one]
        counts = np.diff([*self.starts, len(self.points_1)])
        x, y = self.points_1.T
        # One array for each number, not one small matrix for each point: most of the time of a path goes here.
        rows = [[np.repeat(turns[:, row, column], counts) for column in range(3)] for row in range(3)]
        carried = [row[0] * x + row[1] * y + row[2] * focal for row in rows]
        # What is carried behind the camera stays finite, with an error that makes it an outlier.
        scale = focal / np.maximum(carried[2], self.settings.behind * focal)
        errors = scale * carried[0] - self.points_2[:, 0], scale * carried[1] - self.points_2[:, 1]
        return _Carried(turns, [row[2] for row in rows], carried, errors)

    def _cost(self, rotations: Floats, focal: float) -> float:
        squares = self._carry(rotations, focal).squares / self.tolerance**2
        return float(np.sum(np.log1p(squares))) + self.prior.belief(focal) ** 2

    def _normal_equations(self, rotations: Floats, focal: float) -> tuple[Floats, Floats]:
        """The matrix and the slope, from sums over the points of each link.

        Turning the first camera moves a carried point as turning the second one back does, seen in other axes. So the
        sums over slopes by the second camera give all blocks of a link.
        """
        found = self._carry(rotations, focal)
        (x, y, z), (error_x, error_y) = found.carried, found.errors
        weights = 1 / (self.tolerance**2 + found.squares)
        scale = np.where(
            z > self.settings.behind * focal, focal / np.where(z > self.settings.behind * focal, z, 1.0), 0.0
        )
        shown_x, shown_y = scale * x / focal, scale * y / focal
        # Slopes of x and of y in the second frame by the three axes of its camera, and by the logarithm of the focal.
        by_x = (scale * shown_x * y, -scale * (z + shown_x * x), scale * y)
        by_y = (scale * (z + shown_y * y), -scale * shown_y * x, -scale * x)
        drift_x, drift_y, drift_z = found.last_columns
        focal_x = focal * (shown_x + scale * (drift_x - shown_x * drift_z))
        focal_y = focal * (shown_y + scale * (drift_y - shown_y * drift_z))
        weighted_x, weighted_y = [weights * part for part in by_x], [weights * part for part in by_y]

        def sums(values_x: Floats, values_y: Floats) -> Floats:
            """[L, 3] by link, over its points: the slopes by the axes times other values."""
            parts = [a * values_x + b * values_y for a, b in zip(weighted_x, weighted_y, strict=True)]
            return np.stack([np.add.reduceat(part, self.starts) for part in parts], axis=1)

        axes = np.stack([sums(a, b) for a, b in zip(by_x, by_y, strict=True)], axis=2)
        blocks, ends = _blocks(found.turns, axes, sums(focal_x, focal_y), sums(error_x, error_y))
        blocks[:, 6, 6] = np.add.reduceat(weights * (focal_x**2 + focal_y**2), self.starts)
        ends[:, 6] = np.add.reduceat(weights * (focal_x * error_x + focal_y * error_y), self.starts)
        matrix, slope = self._gather(blocks, ends, 3 * len(rotations) + 1)
        matrix[-1, -1] += 1 / self.prior.spread**2
        slope[-1] += self.prior.belief(focal) / self.prior.spread
        return matrix, slope

    def _gather(self, blocks: Floats, ends: Floats, size: int) -> tuple[Floats, Floats]:
        matrix, slope = np.zeros((size, size)), np.zeros(size)
        axes = (3 * self.ends[:, :, None] + np.arange(3)).reshape(-1, 6)
        columns = np.column_stack([axes, np.full(len(axes), size - 1)])
        np.add.at(matrix, (columns[:, :, None], columns[:, None, :]), blocks)
        np.add.at(slope, columns, ends)
        return matrix, slope


@dataclass(frozen=True, slots=True, eq=False)
class _Carried:
    """The points of the first frames, carried into the second ones by turns."""

    turns: Floats
    """[L, 3, 3] of each link."""
    last_columns: list[Floats]
    """[3][M] the last column of the turn that carries each point."""
    carried: list[Floats]
    """[3][M]"""
    errors: tuple[Floats, Floats]
    """[2][M] pixels in the second frames."""

    @property
    def squares(self) -> Floats:
        """[M] squared pixels."""
        return np.asarray(self.errors[0] ** 2 + self.errors[1] ** 2)


def _blocks(turns: Floats, axes: Floats, by_focal: Floats, by_error: Floats) -> tuple[Floats, Floats]:
    """[L, 7, 7] and [L, 7] of each link: first camera, second camera, focal length; the last entries are left open."""
    blocks, ends = np.zeros((len(turns), 7, 7)), np.zeros((len(turns), 7))
    back = -turns.transpose(0, 2, 1)
    blocks[:, 3:6, 3:6] = axes
    blocks[:, 0:3, 3:6] = back @ axes
    blocks[:, 3:6, 0:3] = blocks[:, 0:3, 3:6].transpose(0, 2, 1)
    blocks[:, 0:3, 0:3] = blocks[:, 0:3, 3:6] @ -turns
    blocks[:, 3:6, 6] = blocks[:, 6, 3:6] = by_focal
    blocks[:, 0:3, 6] = blocks[:, 6, 0:3] = (back @ by_focal[:, :, None])[:, :, 0]
    ends[:, 3:6], ends[:, 0:3] = by_error, (back @ by_error[:, :, None])[:, :, 0]
    return blocks, ends
