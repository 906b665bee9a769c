"""How far a rank correlation over a few points may be off."""

from __future__ import annotations

import math
from statistics import NormalDist

FEWEST_POINTS = 4
ROUNDING = 1e-12


def spearman_interval(value: float, points: int) -> tuple[float, float] | None:
    """Bonett and Wright's 95 % interval of Spearman's correlation; none of fewer than 4 points, nor of 1 and -1.

    >>> [round(end, 2) for end in spearman_interval(0.71, 6)]
    [-0.36, 0.97]
    """
    if points < FEWEST_POINTS or abs(value) > 1 - ROUNDING:
        return None
    reach = NormalDist().inv_cdf(0.975) * math.sqrt((1 + value**2 / 2) / (points - 3))
    return math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)
