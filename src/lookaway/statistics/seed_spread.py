"""How far the same model is from itself when only the seed is another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSpread:
    """Means of one model and metric, seed by seed."""

    means: Mapping[int, float]
    """Mean of each seed."""
    counts: Mapping[int, int]
    """How many values each seed has: means of different cases differ for other reasons than the seed."""
    deviation: float | None
    """Standard deviation of the means; one seed has none."""
    low: float
    high: float

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.means)


def seed_spread(values: Floats, seeds: Sequence[int]) -> SeedSpread | None:
    """The spread over seeds, of values whose rollouts had these seeds; `None` where there is no value.

    >>> found = seed_spread(np.array([0.2, 0.4, 0.5, 0.7]), [0, 0, 1, 1])
    >>> {seed: round(mean, 6) for seed, mean in found.means.items()}, round(found.deviation, 4)
    ({0: 0.3, 1: 0.6}, 0.2121)
    """
    if not len(values):
        return None
    names, place, counts = np.unique(np.asarray(seeds), return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=values) / counts
    return SeedSpread(
        means=dict(zip(names.tolist(), means.tolist(), strict=True)),
        counts=dict(zip(names.tolist(), counts.tolist(), strict=True)),
        deviation=float(means.std(ddof=1)) if len(means) > 1 else None,
        low=float(means.min()),
        high=float(means.max()),
    )
