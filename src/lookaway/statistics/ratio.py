"""A sum over another sum, both over the same scenes, with two intervals that know of scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats
from lookaway.statistics.intervals import clustered_estimate
from lookaway.statistics.scene_bootstrap import DRAWS, SEED, Interval, scene_bootstrap, scene_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio with its interval by the delta method, and by drawing scenes."""

    estimate: Estimate
    """Its interval is that of the influence of every row on the ratio, clustered by scene."""
    drawn: Interval | None
    """`None` where the ratio does not exist without some scene."""
    draws: int
    seed: int


def ratio(
    numerators: Floats, denominators: Floats, scenes: Sequence[str], *, draws: int = DRAWS, seed: int = SEED
) -> Ratio | None:
    """The sum of numerators by that of denominators, one of each in a row; `None` where the latter is not above 0.

    >>> found = ratio(np.array([1.0, 0.0, 2.0]), np.array([2.0, 1.0, 2.0]), ["a", "b", "c"])
    >>> found.estimate.mean
    0.6
    """
    tops, bottoms = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    whole = float(bottoms.sum())
    if whole <= 0:
        return None
    mean = float(tops.sum()) / whole
    names, place = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    totals = np.array([[np.bincount(place, weights=part, minlength=len(names))] for part in (tops, bottoms)])
    weights = scene_weights(len(names), draws=draws, seed=seed).T
    (drawn,) = scene_bootstrap(totals, lambda parts: parts[0] / parts[1], [weights])
    return Ratio(
        estimate=clustered_estimate(mean, (tops - mean * bottoms) / whole, scenes, scored=len(tops)),
        drawn=drawn,
        draws=draws,
        seed=seed,
    )
