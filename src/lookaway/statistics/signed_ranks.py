"""Wilcoxon's test: the ranks of differences instead of their sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats
from lookaway.statistics.sign_flip import EXACT_UP_TO, sign_flip


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRanks:
    """Wilcoxon's signed-rank test, two-sided, in the way of Pratt: zeros have ranks, and then do not count."""

    p: float
    differences: int
    """How many are left after zeros."""
    zeros: int
    least_p: float
    """The smallest p that so many differences could have given: 2 / 2^n."""
    is_exact: bool
    """Whether all flips of signs were tried; with more than 20 differences p is that of the normal distribution."""


def signed_ranks(differences: Floats) -> SignedRanks:
    """The test. Equal sizes share the mean of their ranks.

    >>> found = signed_ranks(np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    >>> found.p, found.least_p
    (0.0625, 0.0625)
    """
    values = np.asarray(differences, np.float64)
    # Differences that are equal but for their last digits share a rank.
    values = np.round(values / max(np.max(np.abs(values), initial=0.0), np.finfo(np.float64).tiny), 12)
    signed = np.sign(values) * _ranks(np.abs(values))
    left = int(np.count_nonzero(signed))
    is_exact = left <= EXACT_UP_TO
    return SignedRanks(
        p=sign_flip(signed).p if is_exact else _normal_p(signed),
        differences=left,
        zeros=len(values) - left,
        least_p=min(1.0, 2.0 ** (1 - left)),
        is_exact=is_exact,
    )


def _ranks(sizes: Floats) -> Floats:
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[place]
    return ranks


def _normal_p(signed: Floats) -> float:
    from scipy.special import ndtr

    # With signs at random a sum of ranks has the variance of their squares: ties and zeros need no further correction.
    return 2.0 * float(ndtr(-abs(float(signed.sum())) / math.sqrt(float(np.sum(signed**2)))))
