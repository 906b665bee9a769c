"""Item analysis of a question bank: which questions separate reference clips from failures, and are stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Indices

ROUNDING = 1e-12
MIN_ANSWERS = 5
"""Fewer answers of a reply say nothing about the reply as a whole."""
FlagKind: TypeAlias = Literal["no_discrimination", "wrong_polarity", "unstable", "unmeasured"]


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
    videos: Indices | None = None
    """Number of the video that each answer is about: several answers about one are a retest. `None`: all differ."""
    replies: Indices | None = None
    """Number of the reply that each answer is part of. `None`: not known."""

    def __post_init__(self) -> None:
        rows = [self.questions, self.is_truth, self.passed, self.videos, self.replies]
        if len({len(column) for column in rows if column is not None}) != 1 or len(self.clips) != len(
            self.asks_for_good
        ):
            raise ValueError("The columns of answers must have one length, and so must those of questions.")
        if np.any((self.questions < 0) | (self.questions >= len(self.clips))):
            raise ValueError(f"The index of a question must be from 0 to {len(self.clips) - 1}.")


@dataclass(frozen=True, slots=True)
class ItemFlag:
    """Why a question should not be trusted."""

    kind: FlagKind
    reason: str


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
    retest_agreement: float | None
    """Share of pairs of answers to it about one video that agree; `None` where no video was asked about twice."""
    flags: tuple[ItemFlag, ...]


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
    contradictory_replies: int
    """Replies that are left out, since most of their answers contradict the other replies about the same video."""


def item_analysis(
    answers: QuestionAnswers,
    *,
    min_discrimination: float = 0.4,
    min_agreement: float = 0.6,
    min_questions: int = 1,
) -> BankStatistics:
    """Discrimination and stability of every question, which should pass on reference videos and fail on failures.

    A question counts as discriminating only if it was asked about both; by Ebel's rule a good one reaches 0.4. It is
    flagged if its discrimination is below the minimum, as one of wrong polarity if turning the right answer round would
    reach it, and as unstable if repeated answers about one video agree less often than the minimum: answers by the toss
    of a coin agree half of the time. A reply that contradicts most of what other replies say about its video is an
    error of the judge, not of a question, and is left out.
    """
    answers, contradictory = _without_contradictory_replies(answers)
    truths, on_truth = _pass_rates(answers, is_truth=True)
    failures, on_failures = _pass_rates(answers, is_truth=False)
    agreements = _retest_agreements(answers)
    items = []
    for place, clip in enumerate(answers.clips):
        good, bad, agreement = on_truth[place], on_failures[place], agreements[place]
        discrimination = None if good is None or bad is None else good - bad
        flags = [*_discrimination_flags(good, bad, min_discrimination), *_retest_flags(agreement, min_agreement)]
        items.append(
            QuestionItem(
                clip=clip,
                truths=truths[place],
                failures=failures[place],
                pass_on_truth=good,
                pass_on_failures=bad,
                discrimination=discrimination,
                retest_agreement=agreement,
                flags=tuple(flags),
            )
        )
    discriminating = dict.fromkeys(sorted(set(answers.clips)), 0)
    for item in items:
        if item.discrimination is not None and item.discrimination >= min_discrimination - ROUNDING:
            discriminating[item.clip] += 1
    kinds = set(zip(answers.clips, map(bool, answers.asks_for_good), strict=True))
    return BankStatistics(
        items=tuple(items),
        min_discrimination=min_discrimination,
        min_questions=min_questions,
        discriminating=discriminating,
        short=tuple(clip for clip, count in discriminating.items() if count < min_questions),
        good_share=float(np.mean(answers.asks_for_good)) if items else None,
        unbalanced=tuple(clip for clip in discriminating if not {(clip, True), (clip, False)} <= kinds),
        contradictory_replies=contradictory,
    )


def _pass_rates(answers: QuestionAnswers, *, is_truth: bool) -> tuple[list[int], list[float | None]]:
    """How often each question was asked about such videos, and its pass rate there."""
    rows = answers.is_truth == is_truth
    asked = np.bincount(answers.questions[rows], minlength=len(answers.clips)).tolist()
    passed = np.bincount(answers.questions[rows & answers.passed], minlength=len(answers.clips)).tolist()
    return asked, [hits / of if of else None for hits, of in zip(passed, asked, strict=True)]


def _by_question_and_video(answers: QuestionAnswers, videos: Indices) -> tuple[Indices, Indices]:
    """The question of each group of answers about one video, and the group of each answer."""
    numbers = np.unique(videos, return_inverse=True)[1]
    size = int(numbers.max()) + 1
    groups, group = np.unique(answers.questions * size + numbers, return_inverse=True)
    return groups // size, group


def _retest_agreements(answers: QuestionAnswers) -> list[float | None]:
    """Share of agreeing pairs of answers about one video, pooled over the videos of each question."""
    count = len(answers.clips)
    if answers.videos is None or not len(answers.questions):
        return [None] * count
    question, group = _by_question_and_video(answers, answers.videos)
    asked, passed = np.bincount(group), np.bincount(group, weights=answers.passed)
    failed = asked - passed
    agreeing = np.bincount(question, passed * (passed - 1) + failed * (failed - 1), count)
    pairs = np.bincount(question, asked * (asked - 1), count)
    return [float(same / of) if of else None for same, of in zip(agreeing, pairs, strict=True)]


def _without_contradictory_replies(answers: QuestionAnswers) -> tuple[QuestionAnswers, int]:
    """The answers without replies of which less than half agree with the majority, and the number of those replies."""
    if answers.videos is None or answers.replies is None or not len(answers.questions):
        return answers, 0
    _, group = _by_question_and_video(answers, answers.videos)
    lead = np.bincount(group, weights=np.where(answers.passed, 1, -1))[group]
    agrees = np.where(lead == 0, 0.5, (lead > 0) == answers.passed)
    reply = np.unique(answers.replies, return_inverse=True)[1]
    asked = np.bincount(reply)
    is_contradictory = (asked >= MIN_ANSWERS) & (np.bincount(reply, weights=agrees) < asked / 2 - ROUNDING)
    kept = ~is_contradictory[reply]
    columns = {name: getattr(answers, name)[kept] for name in ("questions", "is_truth", "passed", "videos", "replies")}
    return replace(answers, **columns), int(is_contradictory.sum())


def _discrimination_flags(good: float | None, bad: float | None, min_discrimination: float) -> list[ItemFlag]:
    if good is None or bad is None:
        lacking = "reference videos" if good is None else "failures"
        return [ItemFlag("unmeasured", f"there are no answers about {lacking}")]
    if good - bad >= min_discrimination - ROUNDING:
        return []
    found = f"{good:.0%} of answers about reference videos pass and {bad:.0%} of those about failures"
    if bad - good >= min_discrimination - ROUNDING:
        return [ItemFlag("wrong_polarity", f"{found}: the other answer seems to be the right one")]
    return [ItemFlag("no_discrimination", f"{found}: expected {min_discrimination:.0%} fewer about failures")]


def _retest_flags(agreement: float | None, min_agreement: float) -> list[ItemFlag]:
    if agreement is None or agreement >= min_agreement - ROUNDING:
        return []
    return [ItemFlag("unstable", f"{agreement:.0%} of repeated answers agree, expected {min_agreement:.0%}")]
