"""The rate that is behind what an imperfect judge reads (Rogan and Gladen)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counted:
    """So many of so many; not whole numbers where clips of one scene count for less."""

    hits: float
    of: float

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.of or self.of <= 0:
            raise ValueError(f"Hits are from 0 to all of at least one, found {self.hits} of {self.of}.")

    @property
    def rate(self) -> float:
        """The share of hits."""
        return self.hits / self.of

    def with_added(self, trials: float) -> Counted:
        """With more trials of which half are hits."""
        return Counted(self.hits + trials / 2, self.of + trials)

    @property
    def variance(self) -> float:
        """Of the rate, for independent trials."""
        return self.rate * (1 - self.rate) / self.of


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A rate without the errors of the judge; numbers as they come, not cut off at 0 and 1."""

    read: float
    """What the judge says."""
    rate: float
    low: float
    high: float
    sharpness: float
    """Sensitivity + specificity - 1: what the judge leaves of any difference between two models."""

    @property
    def out_of_range(self) -> bool:
        """Whether the rate is below 0 or above 1: more errors than the labelled clips lead one to expect."""
        return not 0 <= self.rate <= 1

    def shown(self) -> tuple[float, float, float]:
        """Rate, low and high, cut off at 0 and 1."""
        rate, low, high = (min(max(value, 0.0), 1.0) for value in (self.rate, self.low, self.high))
        return rate, low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCorrectable:
    """A judge that says no more than a coin, or less: nothing can be read from its answers."""

    sensitivity: float
    specificity: float


def corrected_rate(
    read: Counted, sensitivity: Counted, specificity: Counted, *, level: float = 0.95
) -> CorrectedRate | NotCorrectable:
    """(read + sp - 1) / (se + sp - 1), with an interval that knows that se and sp are estimates too.

    `read` counts yes among unlabelled clips, `sensitivity` and `specificity` right answers among clips that people
    called yes and no. The interval is by the delta method: var = (var(read) + rate^2 var(se) + (1 - rate)^2 var(sp)) /
    (se + sp - 1)^2. As that is too narrow for few labels or rates near 0 and 1, z^2 trials are added to `read` and two
    to each of the others, half of them hits, and the middle moves by 2 z^2 (rate var(se) - (1 - rate) var(sp)), as
    Lang and Reiczigel (2014) have it.

    >>> found = corrected_rate(Counted(360, 1000), Counted(90, 100), Counted(70, 100))
    >>> round(found.rate, 3), round(found.low, 3), round(found.high, 3)
    (0.1, -0.064, 0.229)
    """
    sharpness = sensitivity.rate + specificity.rate - 1
    if sharpness <= 1e-12:
        return NotCorrectable(sensitivity=sensitivity.rate, specificity=specificity.rate)
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    near_read, near_yes, near_no = read.with_added(z**2), sensitivity.with_added(2), specificity.with_added(2)
    near_sharpness = near_yes.rate + near_no.rate - 1
    if near_sharpness <= 0:
        return NotCorrectable(sensitivity=sensitivity.rate, specificity=specificity.rate)
    near = (near_read.rate + near_no.rate - 1) / near_sharpness
    shift = 2 * z**2 * (near * near_yes.variance - (1 - near) * near_no.variance)
    spread = near_read.variance + near**2 * near_yes.variance + (1 - near) ** 2 * near_no.variance
    reach = z * math.sqrt(spread) / near_sharpness
    return CorrectedRate(
        read=read.rate,
        rate=(read.rate + specificity.rate - 1) / sharpness,
        low=near + shift - reach,
        high=near + shift + reach,
        sharpness=sharpness,
    )
