"""How the yes and no of a judge compare with those of people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.scene_replicates import SumStatistic, quotient


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfusion:
    """The four counts and what follows from them; `None` where a number is not defined."""

    both_yes: int
    only_judge: int
    only_people: int
    both_no: int
    accuracy: Estimate | None
    precision: Estimate | None
    """Share of the judge's yes that is right."""
    recall: Estimate | None
    """Share of people's yes that the judge found."""
    specificity: Estimate | None
    """Share of people's no that the judge left alone."""
    balanced_accuracy: Estimate | None
    matthews: Estimate | None
    f1: Estimate | None
    kappa: Estimate | None
    ac1: Estimate | None

    @property
    def sensitivity_counts(self) -> Counted | None:
        """Right answers among people's yes, to correct a rate with."""
        return _counted(self.both_yes, self.only_people)

    @property
    def specificity_counts(self) -> Counted | None:
        """Right answers among people's no, to correct a rate with."""
        return _counted(self.both_no, self.only_judge)


def judge_confusion(
    judge: NDArray[np.bool_], people: NDArray[np.bool_], scenes: Sequence[str], weights: Floats | None = None
) -> JudgeConfusion:
    """Judge against people on the same clips.

    Intervals of shares are Wilson's, clustered by scene; those of the other numbers are of resampled scenes and need
    weights [replicates, scenes].
    """
    if not len(judge) == len(people) == len(scenes):
        raise ValueError(f"One answer each per clip, found {len(judge)}, {len(people)} and {len(scenes)} scenes.")
    columns = np.stack([judge & people, judge & ~people, ~judge & people, ~judge & ~people], axis=1).astype(np.float64)
    both_yes, only_judge, only_people, both_no = (int(count) for count in columns.sum(axis=0))

    def share(yes: NDArray[np.bool_], among: NDArray[np.bool_]) -> Estimate | None:
        return clustered_share(yes[among], [scene for scene, counts in zip(scenes, among, strict=True) if counts])

    def other(formula: Callable[[Floats, Floats, Floats, Floats], Floats]) -> Estimate | None:
        return SumStatistic(columns, lambda sums: formula(*sums.T)).estimate(scenes, weights)

    return JudgeConfusion(
        both_yes=both_yes,
        only_judge=only_judge,
        only_people=only_people,
        both_no=both_no,
        accuracy=share(judge == people, np.ones_like(judge)),
        precision=share(people, judge),
        recall=share(judge, people),
        specificity=share(~judge, ~people),
        balanced_accuracy=other(_balanced),
        matthews=other(_matthews),
        f1=other(_f1),
        kappa=other(_kappa),
        ac1=other(_ac1),
    )


def _counted(right: int, wrong: int) -> Counted | None:
    return Counted(right, right + wrong) if right + wrong else None


def _balanced(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    return (quotient(both_yes, both_yes + only_people) + quotient(both_no, both_no + only_judge)) / 2


def _matthews(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    said = (both_yes + only_judge) * (only_people + both_no)
    true = (both_yes + only_people) * (only_judge + both_no)
    return quotient(both_yes * both_no - only_judge * only_people, np.sqrt(said) * np.sqrt(true))


def _f1(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    return quotient(2 * both_yes, 2 * both_yes + only_judge + only_people)


def _kappa(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    said, true = both_yes + only_judge, both_yes + only_people
    blame = said * (only_judge + both_no) + true * (only_people + both_no)
    return quotient(2 * (both_yes * both_no - only_judge * only_people), blame)


def _ac1(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    count = both_yes + only_judge + only_people + both_no
    usual = quotient(2 * both_yes + only_judge + only_people, 2 * count)
    by_chance = 2 * usual * (1 - usual)
    return quotient(quotient(both_yes + both_no, count) - by_chance, 1 - by_chance)
