"""How precise a number of a table is: unmarked, imprecise, or not estimable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from lookaway.core import Estimate, Floats

MIN_VALUES = 10
MIN_EFFECTIVE = 30.0
MAX_HALF_WIDTH = 0.10


class Mark(Enum):
    """The mark beside a number."""

    NONE = ""
    IMPRECISE = "†"
    NOT_ESTIMABLE = "‡"


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """A mark and its reasons."""

    mark: Mark
    scored: int
    effective: float
    half_width: float | None
    """Half the width of the interval; `None` without one."""

    @property
    def is_estimable(self) -> bool:
        """Whether the number may be averaged or ranked; otherwise only its interval is shown."""
        return self.mark is not Mark.NOT_ESTIMABLE


def precision(estimate: Estimate | None, effective: float, *, span: float | None = 1.0) -> Precision:
    """The mark of an estimate with this effective sample size.

    ‡ with fewer than 10 values; † if the half-width of the clustered interval is unknown or above a tenth of the range
    of the metric (`span`, `None` for a metric without limits), or if the effective sample size is below 30.

    >>> precision(Estimate(mean=0.5, low=0.42, high=0.58, scored=60, scenes=40), 48.0).mark.value
    ''
    """
    scored = estimate.scored if estimate else 0
    half_width = None
    if estimate and estimate.low is not None and estimate.high is not None:
        half_width = (estimate.high - estimate.low) / 2
    if scored < MIN_VALUES:
        mark = Mark.NOT_ESTIMABLE
    elif effective < MIN_EFFECTIVE or half_width is None or (span is not None and half_width > MAX_HALF_WIDTH * span):
        mark = Mark.IMPRECISE
    else:
        mark = Mark.NONE
    return Precision(mark=mark, scored=scored, effective=effective, half_width=half_width)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSpread:
    """Means of one model and metric, seed by seed."""

    means: Mapping[int, float]
    """Mean of each seed."""
    counts: Mapping[int, int]
    """Number of values of each seed."""
    deviation: float | None
    """Standard deviation of the means; `None` for one seed."""
    low: float
    high: float

    @property
    def seeds(self) -> int:
        """How many seeds there are."""
        return len(self.means)


def seed_spread(values: Floats, seeds: Sequence[int]) -> SeedSpread | None:
    """The spread over seeds, given the seed of each value; `None` where there is no value.

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
