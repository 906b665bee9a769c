"""Shares of yes and no, with Wilson's interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """How many of how many, and between which shares the true one lies."""

    share: float
    low: float
    high: float
    hits: int
    total: int


def proportion(hits: int, total: int, *, level: float = 0.95) -> Proportion | None:
    """A share with Wilson's interval, which treats rollouts as independent; `None` of none.

    >>> found = proportion(31, 300)
    >>> round(found.low, 3), round(found.high, 3)
    (0.074, 0.143)
    """
    if not total:
        return None
    low, high = wilson(np.array([hits]), np.array([total]), level=level)
    return Proportion(share=hits / total, low=float(low[0]), high=float(high[0]), hits=hits, total=total)


def wilson(hits: Indices, totals: Indices, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Both ends of Wilson's interval of many shares at once."""
    from scipy.special import ndtri

    if not ((hits >= 0) & (hits <= totals) & (totals > 0)).all():
        raise ValueError("A share is of at least one, and of no more than there are.")
    z = float(ndtri((1 + level) / 2))
    share, grown = hits / totals, totals + z**2
    middle = (hits + z**2 / 2) / grown
    reach = z / grown * np.sqrt(totals * share * (1 - share) + z**2 / 4)
    # At both ends the interval reaches 0 and 1 exactly, whatever rounding says.
    low = np.where(hits == 0, 0.0, middle - reach)
    high = np.where(hits == totals, 1.0, middle + reach)
    return low, high
