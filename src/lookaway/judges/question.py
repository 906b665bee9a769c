"""Typed questions: how a judge is asked, and how its answer is parsed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from lookaway.core import Json, JudgeModel, JudgeRequest, Picture, Reason, Unmeasurable
from lookaway.judges.errors import Unreadable
from lookaway.judges.prompt_escaping import quote
from lookaway.judges.prompts import Prompt
from lookaway.judges.reply import Reply, Token, is_worded_refusal, refuse_refusals

YES = frozenset({"Yes", " yes", " Yes", "yes", "YES"})
NO = frozenset({"No", " no", " No", "no", "NO"})


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo:
    """The probability that the answer is yes rather than no."""

    p_yes: float
    least: float
    """Lower bound of `p_yes`, and `most` its upper bound, given the words that the server did not list."""
    most: float
    mass: float
    """Probability of all listed words for yes and no together."""


def yes_no(reply: Reply, *, max_doubt: float) -> YesNo:
    """Yes against no, over all spellings of each.

    Servers list a few of the most likely words. If one side is not among them, its probability lies between zero and
    all that is left; raises `Unmeasurable` if that leaves more than `max_doubt` open.
    """
    if not reply.tokens or not reply.tokens[0].choices:
        raise Unmeasurable(
            Reason.NO_LOG_PROBABILITIES,
            "the judge's server gave no log-probabilities, which the probability of yes is computed from. "
            "Use a server that gives them, such as vLLM; check with `lookaway judge check`.",
        )
    choices = reply.tokens[0].choices
    yes, no = _log_sum(choices, YES), _log_sum(choices, NO)
    listed = sum(math.exp(choice.log_probability) for choice in choices)
    hidden = max(0.0, 1.0 - listed)
    if yes == no == -math.inf:
        words = ", ".join(repr(choice.text) for choice in choices[:5])
        raise Unmeasurable(
            Reason.JUDGE_FAILED, f"neither yes nor no is among the {len(choices)} most likely words: {words}."
        )
    p_yes, least, most = _logistic(yes - no), _share(yes, no, hidden), 1.0 - _share(no, yes, hidden)
    if min(yes, no) > -math.inf:
        least = most = p_yes
    elif most - least > max_doubt:
        raise Unmeasurable(
            Reason.JUDGE_FAILED,
            f"only one of yes and no is among the {len(choices)} most likely words, and the probability of yes may be "
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
    # Servers write -9999 for impossible words, and e^9999 overflows.
    small = math.exp(-abs(lead))
    return (1.0 if lead >= 0 else small) / (1.0 + small)


def _share(side: float, other: float, hidden: float) -> float:
    """The lowest share of one side, if all unlisted probability belongs to the other."""
    ours, theirs = _probability(side), _probability(other) + hidden
    return ours / (ours + theirs) if ours + theirs > 0 else 0.0


def _probability(log_probability: float) -> float:
    return math.exp(log_probability)


FENCE = "```"
SHOWN_CHARACTERS = 200
LIKELY_WORDS = 20
"""The maximum that servers list."""


class Answer(BaseModel):
    """An answer of a judge, validated strictly: no coerced types, no missing fields, no extra fields.

    The docstring of a subclass is part of its JSON schema, which is sent to the judge: another wording is another
    question, and a new `JudgeModel.version`.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


AnswerKind = TypeVar("AnswerKind", bound=Answer)
Read = TypeVar("Read", covariant=True)


class Question(Protocol[Read]):
    """A question about pictures."""

    @property
    def name(self) -> str:
        """Identifies it among the questions of a rollout."""
        ...

    def request(self, system: Prompt, judge: JudgeModel, pictures: tuple[Picture, ...], repeat: int) -> JudgeRequest:
        """The request to a judge."""
        ...

    def read(self, reply: Reply) -> Read:
        """Parse the answer; raises `Unreadable` if a correction may help, else `Unmeasurable`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuestion(Generic[AnswerKind]):
    """A question whose answer is a JSON object with a schema."""

    name: str
    prompts: tuple[Prompt, ...]
    answer: type[AnswerKind]
    material: Mapping[str, Json] = field(default_factory=dict)
    more_tokens: int = 0
    """Tokens that the answer may have beyond the usual maximum."""
    check: Callable[[AnswerKind], None] | None = None
    """Raises `Unreadable` for answers that fit the schema but are not valid."""

    def request(self, system: Prompt, judge: JudgeModel, pictures: tuple[Picture, ...], repeat: int) -> JudgeRequest:
        """The request, with the schema of the answer."""
        return JudgeRequest(
            judge=judge,
            system=system.text,
            instruction=_instruction(self.prompts),
            pictures=pictures,
            material=quote(self.material),
            schema=answer_schema(self.answer),
            max_tokens=judge.sampling.max_tokens + self.more_tokens,
            repeat=repeat,
        )

    def read(self, reply: Reply) -> AnswerKind:
        """Parse the answer strictly."""
        refuse_refusals(reply)
        try:
            answer = self.answer.model_validate(_object(reply))
        except Unreadable:
            if is_worded_refusal(reply):
                raise Unmeasurable(
                    Reason.JUDGE_REFUSED, f"the judge refused: {reply.text.strip()[:SHOWN_CHARACTERS]!r}."
                ) from None
            raise
        except ValidationError as error:
            problems = "; ".join(f"{_location(entry)}{entry['msg']}" for entry in error.errors()[:3])
            raise Unreadable(f"The answer does not fit its schema: {problems}.") from error
        if self.check is not None:
            self.check(answer)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNoQuestion:
    """A question whose answer is the probability that the first word is yes."""

    name: str
    prompts: tuple[Prompt, ...]
    material: Mapping[str, Json] = field(default_factory=dict)
    max_doubt: float

    def request(self, system: Prompt, judge: JudgeModel, pictures: tuple[Picture, ...], repeat: int) -> JudgeRequest:
        """The request for a single token."""
        return JudgeRequest(
            judge=judge,
            system=system.text,
            instruction=_instruction(self.prompts),
            pictures=pictures,
            material=quote(self.material),
            token_choices=LIKELY_WORDS,
            max_tokens=1,
            repeat=repeat,
        )

    def read(self, reply: Reply) -> YesNo:
        """The probability of yes."""
        refuse_refusals(reply)
        return yes_no(reply, max_doubt=self.max_doubt)


def answer_schema(answer: type[Answer]) -> dict[str, Any]:
    """The JSON schema of an answer, as servers take it."""
    schema = answer.model_json_schema()
    return {"name": answer.__name__, "strict": True, "schema": schema}


def _instruction(prompts: tuple[Prompt, ...]) -> str:
    return "\n\n".join(text for prompt in prompts if (text := prompt.text.strip()))


def _object(reply: Reply) -> Json:
    """The single JSON object that the answer consists of."""
    text = reply.text.strip()
    if not text:
        raise Unreadable("The answer is empty.")
    try:
        return json.loads(_unfenced(text), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        ending = " It was cut off at its greatest length." if reply.finish == "length" else ""
        raise Unreadable(f"The answer is not one JSON object: {error}.{ending}") from error


def _unfenced(text: str) -> str:
    """The text inside a Markdown code fence, if the fence is all there is."""
    # Not a regular expression: one that allows blank lines at both ends backtracks for hours on many of them.
    first, _, rest = text.partition("\n")
    body, _, last = rest.rpartition("\n")
    return body if first.strip() in (FENCE, f"{FENCE}json") and last.strip() == FENCE else text


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _location(entry: Any) -> str:
    path = ".".join(str(part) for part in entry["loc"])
    return f"{path}: " if path else ""
