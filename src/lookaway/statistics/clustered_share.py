"""A share of yes whose interval knows that clips of one scene are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate
from lookaway.statistics.proportion import wilson


def clustered_share(yes: NDArray[np.bool_], scenes: Sequence[str], *, level: float = 0.95) -> Estimate | None:
    """The share of yes with Wilson's interval for as many independent clips as these are worth; `None` of none.

    With one clip per scene that is Wilson's interval itself. With more, n is divided by how much the clustered variance
    exceeds that of independent clips, times (t / z)^2 of G-1 degrees of freedom, for G scenes tell that only so well
    (Korn and Graubard); clips are worth no more than their number. Where all say the same, nothing is known about it,
    and a scene counts as one clip. One scene alone has no interval.

    >>> found = clustered_share(np.arange(50) < 37, [str(clip) for clip in range(50)])
    >>> found.mean, round(found.low, 2), round(found.high, 2)
    (0.74, 0.6, 0.84)
    """
    if not len(yes):
        return None
    _, scene, sizes = np.unique(np.asarray(scenes, np.str_), return_inverse=True, return_counts=True)
    count, share = len(yes), float(np.mean(yes))
    if len(sizes) == 1:
        return Estimate(mean=share, low=None, high=None, scored=count, scenes=1)
    worth = float(count)
    if count > len(sizes):
        residuals = np.bincount(scene, weights=yes - share)
        clustered = len(sizes) / (len(sizes) - 1) * float(np.sum(residuals**2)) / count**2
        independent = share * (1 - share) / count
        excess = clustered / independent * _doubt(len(sizes), level) if independent else count / len(sizes)
        worth = count / max(1.0, excess)
    low, high = wilson(np.array([share * worth]), np.array([worth]), level=level)
    return Estimate(mean=share, low=float(low[0]), high=float(high[0]), scored=count, scenes=len(sizes))


def _doubt(scenes: int, level: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(scenes - 1, (1 + level) / 2) / ndtri((1 + level) / 2)) ** 2
