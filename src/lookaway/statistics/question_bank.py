"""Which questions tell a true clip from a failed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Indices

ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswers:
    """What a judge made of questions: one answer on one video in each row."""

    questions: Indices
    """Place of the question in `clips` and `asks_for_good`."""
    is_truth: NDArray[np.bool_]
    """Whether the video is the true one, and not a known failure."""
    passed: NDArray[np.bool_]
    clips: Sequence[str]
    """Clip of each question."""
    asks_for_good: Sequence[bool]
    """Whether yes is the good answer, for each question."""

    def __post_init__(self) -> None:
        rows = (self.questions, self.is_truth, self.passed)
        if len({len(column) for column in rows}) != 1 or len(self.clips) != len(self.asks_for_good):
            raise ValueError("Columns of answers are equally long, and so are those of questions.")
        if np.any((self.questions < 0) | (self.questions >= len(self.clips))):
            raise ValueError(f"An answer is to one of the {len(self.clips)} questions.")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionItem:
    """One question; rates are `None` where it was not asked of such a video."""

    clip: str
    truths: int
    failures: int
    pass_on_truth: float | None
    pass_on_failures: float | None
    discrimination: float | None
    """Pass rate on truth less pass rate on failures: 1 tells them apart, 0 does not, below 0 it misleads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionBank:
    """All questions, and whether each clip has enough that tell."""

    items: tuple[QuestionItem, ...]
    bar: float
    at_least: int
    discriminating: Mapping[str, int]
    """By clip: questions whose discrimination is at least the bar."""
    short: tuple[str, ...]
    """Clips that have fewer than they need."""
    good_share: float | None
    """Share of questions to which yes is the good answer: far from a half, a judge that likes to say yes gains or
    loses by it."""
    unbalanced: tuple[str, ...]
    """Clips whose questions all have the same good answer."""


def question_bank(answers: QuestionAnswers, *, bar: float = 0.5, at_least: int = 1) -> QuestionBank:
    """Item analysis: a question is to pass on the truth and to fail on failures.

    A question has to have been asked of both to count as telling. `bar` and `at_least` are the caller's standards.
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
        discriminating[item.clip] += item.discrimination is not None and item.discrimination >= bar - ROUNDING
    kinds = set(zip(answers.clips, map(bool, answers.asks_for_good), strict=True))
    return QuestionBank(
        items=items,
        bar=bar,
        at_least=at_least,
        discriminating=discriminating,
        short=tuple(clip for clip, count in discriminating.items() if count < at_least),
        good_share=float(np.mean(answers.asks_for_good)) if items else None,
        unbalanced=tuple(clip for clip in discriminating if not {(clip, True), (clip, False)} <= kinds),
    )


def _pass_rates(answers: QuestionAnswers, *, is_truth: bool) -> tuple[list[int], list[float | None]]:
    """How often each question was asked of such videos, and its pass rate there."""
    rows = answers.is_truth == is_truth
    asked = np.bincount(answers.questions[rows], minlength=len(answers.clips)).tolist()
    passed = np.bincount(answers.questions[rows & answers.passed], minlength=len(answers.clips)).tolist()
    return asked, [hits / of if of else None for hits, of in zip(passed, asked, strict=True)]
