"""Item analysis of a question bank: which questions separate true clips from failed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Indices

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers:
    """Whether a judge's answers passed: one answer about one video in each row."""

    questions: Indices
    """Index of the question in `clips` and `asks_for_good`."""
    is_truth: NDArray[np.bool_]
    """Whether the video is the true one, rather than a known failure."""
    passed: NDArray[np.bool_]
    clips: Sequence[str]
    """Clip that each question is about."""
    asks_for_good: Sequence[bool]
    """Whether yes is the right answer for a good video, for each question."""

    def __post_init__(self) -> None:
        rows = (self.questions, self.is_truth, self.passed)
        if len({len(column) for column in rows}) != 1 or len(self.clips) != len(self.asks_for_good):
            raise ValueError("The columns of answers must have one length, and so must those of questions.")
        if np.any((self.questions < 0) | (self.questions >= len(self.clips))):
            raise ValueError(f"The index of a question must be from 0 to {len(self.clips) - 1}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionItem:
    """One question; rates are `None` where it was not asked of such a video."""

    clip: str
    truths: int
    failures: int
    pass_on_truth: float | None
    pass_on_failures: float | None
    discrimination: float | None
    """Pass rate on reference videos minus pass rate on failures: 1 separates them, 0 does not, below 0 misleads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankStatistics:
    """All questions of a bank, and whether each clip has enough that discriminate."""

    items: tuple[QuestionItem, ...]
    min_discrimination: float
    min_questions: int
    discriminating: Mapping[str, int]
    """By clip: how many questions have at least `min_discrimination`."""
    short: tuple[str, ...]
    """Clips with fewer than `min_questions` of them."""
    good_share: float | None
    """Share of questions whose good answer is yes: far from one half, it rewards or punishes a judge biased to yes."""
    unbalanced: tuple[str, ...]
    """Clips whose questions all have the same good answer."""


def item_analysis(
    answers: QuestionAnswers, *, min_discrimination: float = 0.5, min_questions: int = 1
) -> BankStatistics:
    """Discrimination of every question, which should pass on reference videos and fail on failures.

    A question counts as discriminating only if it was asked about both.
    """
    truths, on_truth = _pass_rates(answers, is_truth=True)
    failures, on_failures = _pass_rates(answers, is_truth=False)
    items = tuple(
        QuestionItem(
            clip=clip,
            truths=truths[place],
            failures=failures[place],
            pass_on_truth=(good := on_truth[place]),
            pass_on_failures=(bad := on_failures[place]),
            discrimination=None if good is None or bad is None else good - bad,
        )
        for place, clip in enumerate(answers.clips)
    )
    discriminating = dict.fromkeys(sorted(set(answers.clips)), 0)
    for item in items:
        if item.discrimination is not None and item.discrimination >= min_discrimination - ROUNDING:
            discriminating[item.clip] += 1
    kinds = set(zip(answers.clips, map(bool, answers.asks_for_good), strict=True))
    return BankStatistics(
        items=items,
        min_discrimination=min_discrimination,
        min_questions=min_questions,
        discriminating=discriminating,
        short=tuple(clip for clip, count in discriminating.items() if count < min_questions),
        good_share=float(np.mean(answers.asks_for_good)) if items else None,
        unbalanced=tuple(clip for clip in discriminating if not {(clip, True), (clip, False)} <= kinds),
    )


def _pass_rates(answers: QuestionAnswers, *, is_truth: bool) -> tuple[list[int], list[float | None]]:
    """How often each question was asked about such videos, and its pass rate there."""
    rows = answers.is_truth == is_truth
    asked = np.bincount(answers.questions[rows], minlength=len(answers.clips)).tolist()
    passed = np.bincount(answers.questions[rows & answers.passed], minlength=len(answers.clips)).tolist()
    return asked, [hits / of if of else None for hits, of in zip(passed, asked, strict=True)]
