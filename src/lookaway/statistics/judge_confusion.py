"""Confusion of a judge's yes and no with people's, and rates corrected for its errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.scene_replicates import SumStatistic, safe_divide


@dataclass(frozen=True, slots=True)
class HitCounts:
    """Hits among trials; not whole numbers where clips of one scene count for less."""

    hits: float
    total: float

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.total or self.total <= 0:
            raise ValueError(f"Expected 0 to total hits and a total above 0, found {self.hits} of {self.total}.")

    @property
    def rate(self) -> float:
        """The share of hits."""
        return self.hits / self.total

    def with_pseudo_trials(self, trials: float) -> HitCounts:
        """With more trials, half of them hits."""
        return HitCounts(self.hits + trials / 2, self.total + trials)

    @property
    def variance(self) -> float:
        """Variance of the rate, for independent trials."""
        return self.rate * (1 - self.rate) / self.total


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A rate corrected for the errors of the judge (Rogan and Gladen); not clipped to 0 and 1."""

    observed: float
    """Share of yes of the judge."""
    rate: float
    low: float
    high: float
    youden: float
    """Youden's index, sensitivity + specificity - 1: by this factor the judge shrinks differences of models."""

    @property
    def is_out_of_range(self) -> bool:
        """Whether the rate is below 0 or above 1: the judge errs more than the labelled clips show."""
        return not 0 <= self.rate <= 1

    def clipped(self) -> tuple[float, float, float]:
        """Rate, low and high, clipped to 0 and 1."""
        rate, low, high = (min(max(value, 0.0), 1.0) for value in (self.rate, self.low, self.high))
        return rate, low, high


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCorrectable:
    """A judge that is no better than chance: its answers carry no information."""

    sensitivity: float
    specificity: float


def corrected_rate(
    observed: HitCounts, sensitivity: HitCounts, specificity: HitCounts, *, level: float = 0.95
) -> CorrectedRate | NotCorrectable:
    """(observed + sp - 1) / (se + sp - 1), with an interval that allows for the errors of se and sp.

    `observed` counts yes among unlabelled clips, `sensitivity` and `specificity` right answers among clips that people
    called yes and no. The interval is by the delta method: var = (var(observed) + rate^2 var(se) +
    (1 - rate)^2 var(sp)) / (se + sp - 1)^2. As that is too narrow for few labels or rates near 0 and 1, z^2 trials are
    added to `observed` and two to each of the others, half of them hits, and the centre moves by
    2 z^2 (rate var(se) - (1 - rate) var(sp)), after Lang and Reiczigel (2014).

    >>> found = corrected_rate(HitCounts(360, 1000), HitCounts(90, 100), HitCounts(70, 100))
    >>> round(found.rate, 3), round(found.low, 3), round(found.high, 3)
    (0.1, -0.064, 0.229)
    """
    youden = sensitivity.rate + specificity.rate - 1
    if youden <= 1e-12:
        return NotCorrectable(sensitivity=sensitivity.rate, specificity=specificity.rate)
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    near_observed, near_yes, near_no = (
        observed.with_pseudo_trials(z**2),
        sensitivity.with_pseudo_trials(2),
        specificity.with_pseudo_trials(2),
    )
    near_youden = near_yes.rate + near_no.rate - 1
    if near_youden <= 0:
        return NotCorrectable(sensitivity=sensitivity.rate, specificity=specificity.rate)
    near = (near_observed.rate + near_no.rate - 1) / near_youden
    shift = 2 * z**2 * (near * near_yes.variance - (1 - near) * near_no.variance)
    spread = near_observed.variance + near**2 * near_yes.variance + (1 - near) ** 2 * near_no.variance
    reach = z * math.sqrt(spread) / near_youden
    return CorrectedRate(
        observed=observed.rate,
        rate=(observed.rate + specificity.rate - 1) / youden,
        low=near + shift - reach,
        high=near + shift + reach,
        youden=youden,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfusion:
    """The four counts and the statistics of them; `None` where one is not defined."""

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
    """Share of people's no that the judge denied too."""
    balanced_accuracy: Estimate | None
    matthews: Estimate | None
    f1: Estimate | None
    kappa: Estimate | None
    ac1: Estimate | None

    @property
    def sensitivity_counts(self) -> HitCounts | None:
        """Right answers among people's yes, to correct a rate with."""
        return _counted(self.both_yes, self.only_people)

    @property
    def specificity_counts(self) -> HitCounts | None:
        """Right answers among people's no, to correct a rate with."""
        return _counted(self.both_no, self.only_judge)


def judge_confusion(
    judge: NDArray[np.bool_], people: NDArray[np.bool_], scenes: Sequence[str], weights: Floats | None = None
) -> JudgeConfusion:
    """Compare a judge with people on the same clips.

    Intervals of shares are Wilson's, clustered by scene; those of the other numbers come from resampled scenes and need
    weights [replicates, scenes].
    """
    if not len(judge) == len(people) == len(scenes):
        raise ValueError(f"Expected one of each per clip, found {len(judge)}, {len(people)} and {len(scenes)} scenes.")
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


def _counted(right: int, wrong: int) -> HitCounts | None:
    return HitCounts(right, right + wrong) if right + wrong else None


def _balanced(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    return (safe_divide(both_yes, both_yes + only_people) + safe_divide(both_no, both_no + only_judge)) / 2


def _matthews(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    said = (both_yes + only_judge) * (only_people + both_no)
    true = (both_yes + only_people) * (only_judge + both_no)
    return safe_divide(both_yes * both_no - only_judge * only_people, np.sqrt(said) * np.sqrt(true))


def _f1(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    return safe_divide(2 * both_yes, 2 * both_yes + only_judge + only_people)


def _kappa(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    said, true = both_yes + only_judge, both_yes + only_people
    blame = said * (only_judge + both_no) + true * (only_people + both_no)
    return safe_divide(2 * (both_yes * both_no - only_judge * only_people), blame)


def _ac1(both_yes: Floats, only_judge: Floats, only_people: Floats, both_no: Floats) -> Floats:
    count = both_yes + only_judge + only_people + both_no
    usual = safe_divide(2 * both_yes + only_judge + only_people, 2 * count)
    by_chance = 2 * usual * (1 - usual)
    return safe_divide(safe_divide(both_yes + both_no, count) - by_chance, 1 - by_chance)
