"""Where rays meet."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats, Indices


def meet(directions: Floats, origins: Floats, points: Indices, count: int, least_angle: float) -> Floats:
    """[count, 3] nearest to all rays of each point; not a number where they meet at less than an angle.

    Rays are unit directions [O, 3] from origins [O, 3], each of one of the points [O]. The angle is in radians.
    """
    projectors = np.eye(3) - directions[:, :, None] * directions[:, None, :]
    matrices, sides = np.zeros((count, 3, 3)), np.zeros((count, 3))
    np.add.at(matrices, points, projectors)
    np.add.at(sides, points, np.einsum("oij,oj->oi", projectors, origins))
    # Of two rays at an angle a, the least eigenvalue is 1 - cos(a).
    is_wide = np.linalg.eigvalsh(matrices)[:, 0] > 1 - np.cos(least_angle)
    places = np.full((count, 3), np.nan)
    places[is_wide] = np.linalg.solve(matrices[is_wide], sides[is_wide][:, :, None])[:, :, 0]
    return places
