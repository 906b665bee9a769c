"""What a judge gets wrong, from its answers to questions whose true answers are known."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate
from lookaway.statistics.intervals import clustered_estimate, clustered_share, effective_count
from lookaway.statistics.judge_confusion import (
    CorrectedRate,
    HitCounts,
    JudgeConfusion,
    NotCorrectable,
    corrected_rate,
    judge_confusion,
)

Outcome = Literal["answered", "refused", "unreadable", "failed"]
Form = Literal["json", "yes_no"]
Key = TypeVar("Key", bound=Hashable)
MAX_LOG_ODDS = 14.0
"""Log-odds of a millionth, for a word that a server calls impossible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedAnswer:
    """One question about one clip, asked once."""

    question: str
    form: Form
    is_positive: bool | None
    """Whether a yes speaks for the video; `None` where it says nothing about its quality."""
    clip: str
    scene: str
    fault: str
    """Empty for a clip without one."""
    truth: bool
    clean_truth: bool | None
    """The true answer about the same case without the fault; `None` where there is no such clip."""
    is_shuffled: bool
    """Whether the frames were shown out of order, each with its true time."""
    repeat: int
    shown: str
    """Hash of what was asked and shown: equal for two judges that were asked the same."""
    outcome: Outcome
    says_yes: bool | None
    log_odds: float | None
    """Log-odds of a yes, where the server gives log-probabilities."""
    is_corrected: bool
    """Whether the first answer could not be read, and the judge was asked for another."""
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """Errors on questions of one form and polarity.

    A judge that errs by chance in a share w of its answers, and then turns a share t of its no into yes, has
    `yes_bias` = t and `error_rate` = w.
    """

    form: Form
    is_positive: bool | None
    asked: int
    missed: Estimate | None
    """Share of no where yes is true."""
    invented: Estimate | None
    """Share of yes where no is true."""
    yes_bias: Estimate | None
    """`invented` minus `missed`: above 0 it says yes too often, below 0 no."""
    error_rate: Estimate | None
    """Share of answers that are wrong whatever is true, once the bias is taken out."""
    log_odds_bias: Estimate | None
    """Mean log-odds of a yes, with both true answers weighed equally: 0 without bias."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultConfusion:
    """What a judge makes of clips with one fault."""

    fault: str
    clips: int
    found: int
    missed: int
    """Answers that the fault should have changed, and that are as if it were not there."""
    invented: int
    """Wrong answers to questions that the fault does not touch."""
    right: int
    found_share: Estimate | None
    invented_share: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionErrors:
    """The confusion of one question, to correct rates with."""

    question: str
    confusion: JudgeConfusion
    sensitivity: HitCounts | None
    """Right answers where yes is true; clips of one scene count for less. `None` where there is none."""
    specificity: HitCounts | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAudit:
    """How far a judge can be relied on."""

    asked: int
    scenes: int
    repeat_agreement: Estimate | None
    """Share of pairs of repeats with the same answer."""
    order_agreement: Estimate | None
    """Share of answers that stay the same if the frames are shown out of order."""
    order_effect: Estimate | None
    """How much rarer that is than agreement of repeats: what the order itself changes."""
    refusals: Estimate | None
    parse_failures: Estimate | None
    """Share of questions whose first answer could not be read."""
    unreadable: Estimate | None
    """Share that could not be read after a correction either."""
    failures: Estimate | None
    """Share without any reply."""
    prompt_tokens: float
    """Per question, corrections included."""
    answer_tokens: float
    errors: tuple[ErrorRates, ...]
    faults: tuple[FaultConfusion, ...]
    questions: tuple[QuestionErrors, ...]


def audit_answers(answers: Sequence[AuditedAnswer]) -> JudgeAudit:
    """Every number of an audit, with 95 % intervals clustered by scene."""
    in_order = [answer for answer in answers if not answer.is_shuffled]
    known = [answer for answer in in_order if answer.says_yes is not None]
    repeats, orders = _repeat_pairs(known), _order_pairs(answers)
    repeat_agreement, order_agreement = (_share(pairs) for pairs in (repeats, orders))
    effect = None
    if repeat_agreement is not None and order_agreement is not None:
        effect = combine(lambda same, ordered: same - ordered, (repeat_agreement, order_agreement))
    return JudgeAudit(
        asked=len(answers),
        scenes=len({answer.scene for answer in answers}),
        repeat_agreement=repeat_agreement,
        order_agreement=order_agreement,
        order_effect=effect,
        refusals=_share_of(answers, lambda answer: answer.outcome == "refused"),
        parse_failures=_share_of(answers, lambda answer: answer.is_corrected or answer.outcome == "unreadable"),
        unreadable=_share_of(answers, lambda answer: answer.outcome == "unreadable"),
        failures=_share_of(answers, lambda answer: answer.outcome == "failed"),
        prompt_tokens=_mean([answer.prompt_tokens for answer in answers]),
        answer_tokens=_mean([answer.answer_tokens for answer in answers]),
        errors=tuple(
            _error_rates(form, is_positive, group)
            for (form, is_positive), group in _group(known, lambda answer: (answer.form, answer.is_positive)).items()
        ),
        faults=tuple(_fault(fault, group) for fault, group in sorted(_group(known, lambda a: a.fault).items())),
        questions=tuple(_question(name, group) for name, group in _group(known, lambda a: a.question).items()),
    )


def combine(formula: Callable[..., float], parts: Sequence[Estimate]) -> Estimate:
    """A function of independent estimates, with an interval by the method of variance estimates recovery (MOVER).

    Each end is the root of the sum of squares of what the ends of the parts' intervals change on that side, one part
    at a time; so a part whose interval is not symmetric, such as Wilson's near 0, passes that on.

    >>> half, few = (Estimate(mean=m, low=m - 0.1, high=m + 0.1, scored=9, scenes=9) for m in (0.5, 0.2))
    >>> found = combine(lambda first, second: first - second, (half, few))
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.3, 0.159, 0.441)
    """
    means = [part.mean for part in parts]
    value = formula(*means)
    plain = Estimate(
        mean=value,
        low=None,
        high=None,
        scored=sum(part.scored for part in parts),
        scenes=min(part.scenes for part in parts),
    )
    if any(part.low is None or part.high is None for part in parts):
        return plain
    below = above = 0.0
    for place, part in enumerate(parts):
        ends = [formula(*means[:place], end, *means[place + 1 :]) - value for end in (part.low, part.high)]
        below += min(0.0, *ends) ** 2
        above += max(0.0, *ends) ** 2
    return replace(plain, low=value - math.sqrt(below), high=value + math.sqrt(above))


def corrected_share(errors: QuestionErrors, yes: NDArray[np.bool_], scenes: Sequence[str]) -> CorrectedRate | None:
    """The share of yes among other clips, corrected for the errors of the judge; `None` where that is not possible.

    The interval allows for how few answers the audit had, and counts clips of one scene for less.
    """
    if errors.sensitivity is None or errors.specificity is None or not len(yes):
        return None
    found = corrected_rate(_counts(yes, scenes), errors.sensitivity, errors.specificity)
    return None if isinstance(found, NotCorrectable) else found


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgedQuestion:
    """How the answers of a new judge follow from those of a retired one."""

    question: str
    compared: int
    agreement: Estimate | None
    kappa: Estimate | None
    yes_after_yes: Estimate | None
    """Share of the retired judge's yes that the new one says yes to."""
    yes_after_no: Estimate | None

    def carry(self, rate: Estimate) -> Estimate | None:
        """The rate of yes that the new judge would give clips to which the retired one gave this rate."""
        if self.yes_after_yes is None or self.yes_after_no is None:
            return None
        parts = (rate, self.yes_after_yes, self.yes_after_no)
        return combine(lambda share, yes, no: share * yes + (1 - share) * no, parts)


def bridge_answers(new: Sequence[AuditedAnswer], retired: Sequence[AuditedAnswer]) -> tuple[BridgedQuestion, ...]:
    """Compare two judges on what both were asked and both answered, question by question."""
    before = {_key(answer): answer for answer in retired if answer.says_yes is not None and not answer.is_shuffled}
    pairs = [
        (answer, before[_key(answer)])
        for answer in new
        if answer.says_yes is not None and not answer.is_shuffled and _key(answer) in before
    ]
    names = dict.fromkeys(answer.question for answer, _ in pairs)
    return tuple(_bridged(name, [pair for pair in pairs if pair[0].question == name]) for name in names)


def _bridged(name: str, pairs: Sequence[tuple[AuditedAnswer, AuditedAnswer]]) -> BridgedQuestion:
    ours = np.array([answer.says_yes for answer, _ in pairs], np.bool_)
    theirs = np.array([answer.says_yes for _, answer in pairs], np.bool_)
    scenes = [answer.scene for answer, _ in pairs]
    confusion = judge_confusion(ours, theirs, scenes)
    return BridgedQuestion(
        question=name,
        compared=len(pairs),
        agreement=confusion.accuracy,
        kappa=confusion.kappa,
        yes_after_yes=confusion.recall,
        yes_after_no=None if confusion.specificity is None else combine(lambda no: 1 - no, (confusion.specificity,)),
    )


def _key(answer: AuditedAnswer) -> tuple[str, str, int, str]:
    return answer.clip, answer.question, answer.repeat, answer.shown


def _error_rates(form: Form, is_positive: bool | None, answers: Sequence[AuditedAnswer]) -> ErrorRates:
    missed = _share_of([answer for answer in answers if answer.truth], lambda answer: not answer.says_yes)
    invented = _share_of([answer for answer in answers if not answer.truth], lambda answer: bool(answer.says_yes))
    bias = rate = None
    if missed is not None and invented is not None:
        bias = combine(lambda lost, made: made - lost, (missed, invented))
        rate = combine(_chance_errors, (missed, invented))
    return ErrorRates(
        form=form,
        is_positive=is_positive,
        asked=len(answers),
        missed=missed,
        invented=invented,
        yes_bias=bias,
        error_rate=rate,
        log_odds_bias=_log_odds_bias(answers),
    )


def _chance_errors(missed: float, invented: float) -> float:
    """w of missed = w (1 - t) and invented = w + (1 - w) t, for a bias t towards yes; and the mirror image."""
    fewer, more = sorted((missed, invented))
    left = 1 - (more - fewer)
    return fewer / left if left > 0 else 0.0


def _log_odds_bias(answers: Sequence[AuditedAnswer]) -> Estimate | None:
    given = [answer for answer in answers if answer.log_odds is not None]
    truth = np.array([answer.truth for answer in given], np.bool_)
    if not truth.any() or truth.all():
        return None
    odds = np.clip(np.array([answer.log_odds for answer in given], np.float64), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    means = np.where(truth, odds[truth].mean(), odds[~truth].mean())
    influences = (odds - means) / (2 * np.where(truth, truth.sum(), (~truth).sum()))
    value = float(odds[truth].mean() + odds[~truth].mean()) / 2
    return clustered_estimate(value, influences, [answer.scene for answer in given], scored=len(given))


def _fault(fault: str, answers: Sequence[AuditedAnswer]) -> FaultConfusion:
    touched = [answer for answer in answers if answer.clean_truth is not None and answer.clean_truth != answer.truth]
    others = [answer for answer in answers if answer.clean_truth is None or answer.clean_truth == answer.truth]
    found = sum(answer.says_yes == answer.truth for answer in touched)
    right = sum(answer.says_yes == answer.truth for answer in others)
    return FaultConfusion(
        fault=fault,
        clips=len({answer.clip for answer in answers}),
        found=found,
        missed=len(touched) - found,
        invented=len(others) - right,
        right=right,
        found_share=_share_of(touched, lambda answer: answer.says_yes == answer.truth),
        invented_share=_share_of(others, lambda answer: answer.says_yes != answer.truth),
    )


def _question(name: str, answers: Sequence[AuditedAnswer]) -> QuestionErrors:
    says = np.array([answer.says_yes for answer in answers], np.bool_)
    truth = np.array([answer.truth for answer in answers], np.bool_)
    scenes = np.array([answer.scene for answer in answers], np.str_)
    return QuestionErrors(
        question=name,
        confusion=judge_confusion(says, truth, scenes.tolist()),
        sensitivity=_counts(says[truth], scenes[truth].tolist()) if truth.any() else None,
        specificity=_counts(~says[~truth], scenes[~truth].tolist()) if not truth.all() else None,
    )


def _counts(yes: NDArray[np.bool_], scenes: Sequence[str]) -> HitCounts:
    total = effective_count(yes, scenes)
    return HitCounts(float(np.mean(yes)) * total, total)


_Pairs = list[tuple[bool, str]]
"""Whether two answers are the same, and their scene."""


def _repeat_pairs(answers: Iterable[AuditedAnswer]) -> _Pairs:
    return [
        (first.says_yes == second.says_yes, first.scene)
        for group in _group(answers, lambda answer: (answer.clip, answer.question)).values()
        for first, second in combinations(group, 2)
    ]


def _order_pairs(answers: Iterable[AuditedAnswer]) -> _Pairs:
    known = {(a.clip, a.question, a.repeat, a.is_shuffled): a for a in answers if a.says_yes is not None}
    pairs = []
    for (clip, question, repeat, is_shuffled), answer in known.items():
        other = known.get((clip, question, repeat, False))
        if is_shuffled and other is not None:
            pairs.append((answer.says_yes == other.says_yes, answer.scene))
    return pairs


def _share(pairs: _Pairs) -> Estimate | None:
    return clustered_share(np.array([same for same, _ in pairs], np.bool_), [scene for _, scene in pairs])


def _share_of(answers: Sequence[AuditedAnswer], is_counted: Callable[[AuditedAnswer], bool]) -> Estimate | None:
    return _share([(is_counted(answer), answer.scene) for answer in answers])


def _mean(values: Sequence[int]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _group(answers: Iterable[AuditedAnswer], key: Callable[[AuditedAnswer], Key]) -> dict[Key, list[AuditedAnswer]]:
    groups: dict[Key, list[AuditedAnswer]] = defaultdict(list)
    for answer in answers:
        groups[key(answer)].append(answer)
    return groups
