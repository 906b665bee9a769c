"""Which questions of a bank are kept: by their verdicts on the ground truth and on a known failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lookaway.core import UserError
from lookaway.judges.question_bank import PublishedBank, QuestionBank

FAILS_ON_TRUTH = "the ground truth does not pass it"
MISSES_FAILURE = "the known failure passes it: it penalises nothing"
MOVED_BY_HINT = "its verdict on the known failure changes when the judge is given a hint"


@dataclass(frozen=True, slots=True)
class FilterResult:
    """The questions that are kept, and why the others are not."""

    kept: tuple[int, ...]
    dropped: Mapping[int, str]

    def apply(self, bank: QuestionBank) -> QuestionBank:
        """The next version of the bank; a bank without questions is a `UserError`."""
        questions = [question for question in bank.questions if question.id in self.kept]
        if not questions:
            raise UserError(f"{bank.bank or 'The bank'}: the filter keeps none of its {len(bank.ids)} questions.")
        return bank.next_version(questions)


def filter_questions(bank: QuestionBank, on_truth: Mapping[int, bool], on_failure: Mapping[int, bool]) -> FilterResult:
    """Keep what the ground truth passes and the known failure does not, as the publication states it."""
    return _filtered(bank, on_truth, {MISSES_FAILURE: {number: not passed for number, passed in on_failure.items()}})


def keep_unmoved_by_hint(
    bank: QuestionBank,
    on_truth: Mapping[int, bool],
    on_failure: Mapping[int, bool],
    on_failure_with_hint: Mapping[int, bool],
) -> FilterResult:
    """Keep what the ground truth passes and whose verdict on the failure is the same with and without a hint."""
    same = {number: passed == on_failure_with_hint.get(number) for number, passed in on_failure.items()}
    return _filtered(bank, on_truth, {MOVED_BY_HINT: same})


def filter_published_bank(published: PublishedBank, *, by_hint: bool = False) -> FilterResult:
    """Filter the questions of a published file by its own answers.

    `by_hint` keeps what a hint does not move, by the judge's stated verdicts, as MemoBench's own files were made;
    otherwise answers and the polarity of the bank decide, as its paper says.
    """
    if by_hint:
        stages = ("ground_truth", "failure", "failure_with_hint")
        return keep_unmoved_by_hint(published.written, *(published.stated_passes(stage) for stage in stages))
    return filter_questions(published.written, published.passes("ground_truth"), published.passes("failure"))


def _filtered(bank: QuestionBank, on_truth: Mapping[int, bool], rule: Mapping[str, Mapping[int, bool]]) -> FilterResult:
    ((why, is_kept),) = rule.items()
    kept, dropped = [], {}
    unanswered = [number for number in bank.ids if number not in on_truth]
    for number in bank.ids:
        if on_truth.get(number) is False:
            dropped[number] = FAILS_ON_TRUTH
        elif number not in is_kept:
            unanswered.append(number)
        elif is_kept[number]:
            kept.append(number)
        else:
            dropped[number] = why
    if unanswered:
        listed = ", ".join(str(number) for number in sorted(set(unanswered)))
        raise UserError(
            f"{bank.bank or 'The bank'}: the questions {listed} have no answer about the ground truth or the failure. "
            "Each question is asked about both before it can be filtered."
        )
    return FilterResult(tuple(kept), dropped)
