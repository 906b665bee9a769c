"""The probability of a yes, from the log-probabilities of the first word of an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from lookaway.core import Reason, Unmeasurable
from lookaway.judges.reply import Reply, Token

YES = frozenset({"Yes", " yes", " Yes", "yes", "YES", " YES"})
NO = frozenset({"No", " no", " No", "no", "NO", " NO"})


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo:
    """How likely the answer is yes rather than no."""

    p_yes: float
    least: float
    """Of `p_yes`, and `most` its greatest value, whatever is hidden behind the words that the server did not list."""
    most: float
    mass: float
    """Probability of all listed words for yes and no together."""


def yes_no(reply: Reply, *, most_doubt: float) -> YesNo:
    """Yes against no, all spellings of each together.

    Servers list a few of the likeliest words. Where one side is not among them, its probability lies between nothing
    and all that is left; an `Unmeasurable` where that leaves more than `most_doubt` open.
    """
    if not reply.tokens or not reply.tokens[0].choices:
        raise Unmeasurable(
            Reason.NO_LOG_PROBABILITIES,
            "the judge's server gave no log-probabilities, which a probability of yes is made of. "
            "Ask a server that gives them, such as vLLM; `lookaway judge check` tells.",
        )
    choices = reply.tokens[0].choices
    yes, no = _log_sum(choices, YES), _log_sum(choices, NO)
    listed = sum(math.exp(choice.log_probability) for choice in choices)
    hidden = max(0.0, 1.0 - listed)
    if yes == no == -math.inf:
        heard = ", ".join(repr(choice.text) for choice in choices[:5])
        raise Unmeasurable(
            Reason.JUDGE_FAILED, f"neither yes nor no is among the {len(choices)} likeliest words: {heard}."
        )
    p_yes, least, most = _logistic(yes - no), _share(yes, no, hidden), 1.0 - _share(no, yes, hidden)
    if min(yes, no) > -math.inf:
        least = most = p_yes
    elif most - least > most_doubt:
        raise Unmeasurable(
            Reason.JUDGE_FAILED,
            f"only one of yes and no is among the {len(choices)} likeliest words, and the probability of yes may be "
            f"anything from {least:.4f} to {most:.4f}.",
        )
    return YesNo(p_yes=p_yes, least=least, most=most, mass=_probability(yes) + _probability(no))


def _log_sum(choices: Iterable[Token], spellings: frozenset[str]) -> float:
    found = [choice.log_probability for choice in choices if choice.text in spellings]
    top = max(found, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in found))


def _logistic(lead: float) -> float:
    # Servers write -9999 where they mean never, and e^9999 is no number.
    small = math.exp(-abs(lead))
    return (1.0 if lead >= 0 else small) / (1.0 + small)


def _share(side: float, other: float, hidden: float) -> float:
    """The least share of one side, where all that is hidden may belong to the other."""
    ours, theirs = _probability(side), _probability(other) + hidden
    return ours / (ours + theirs) if ours + theirs > 0 else 0.0


def _probability(log_probability: float) -> float:
    return math.exp(log_probability)
