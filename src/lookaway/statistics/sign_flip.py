"""Whether differences could as well have had the other signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats

EXACT_UP_TO = 20
"""Differences with a sign of which all 2^n flips are tried."""
DRAWS = 9_999
_DRAWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFlip:
    """A two-sided permutation test of "the differences lie around zero"."""

    p: float
    flips: int
    """How many were looked at."""
    seed: int | None
    """Of the draws; `None` where all flips were tried and nothing was drawn."""


def sign_flip(differences: Floats, *, draws: int = DRAWS, seed: int = 0) -> SignFlip:
    """The share of flips whose sum is as far from zero as that of the differences.

    All flips are tried where there are at most 2^20 that differ (a zero has no sign to flip); else so many are drawn,
    and p is (b + 1) / (draws + 1) of b as extreme ones.

    >>> sign_flip(np.array([0.1, 0.2, 0.3, 0.4, 0.5])).p
    0.0625
    """
    if not len(differences):
        raise ValueError("Without a difference there is nothing to test.")
    sizes = np.abs(np.asarray(differences, np.float64))
    sizes = sizes[sizes > 0]
    # Sums of the same numbers in another order differ in their last digits and must count as the same.
    bound = abs(float(np.sum(differences))) - 1e-12 * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        sums = all_flips(sizes)
        return SignFlip(p=float(np.mean(np.abs(sums) >= bound)), flips=len(sums), seed=None)
    random = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, draws, _DRAWS_AT_ONCE):
        signs = random.integers(2, size=(min(_DRAWS_AT_ONCE, draws - start), len(sizes)), dtype=np.int8)
        extreme += int(np.count_nonzero(np.abs((2.0 * signs - 1.0) @ sizes) >= bound))
    return SignFlip(p=(extreme + 1) / (draws + 1), flips=draws, seed=seed)


def all_flips(sizes: Floats) -> Floats:
    """The sums of some numbers with every choice of signs.

    >>> all_flips(np.array([1.0, 2.0]))
    array([ 3.,  1., -1., -3.])
    """
    sums = np.zeros(1)
    for size in sizes.tolist():
        sums = np.concatenate([sums + size, sums - size])
    return sums
