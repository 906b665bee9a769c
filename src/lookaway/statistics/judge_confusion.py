"""How the yes and no of a judge compare with those of people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats
from lookaway.statistics.clustered_share import clustered_share
from lookaway.statistics.corrected_rate import Counted
from lookaway.statistics.scene_replicates import SumStatistic, quotient


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
