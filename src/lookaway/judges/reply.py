"""Parses a judge's reply: an OpenAI chat completion, which servers fill with more or less care."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lookaway.core import Json, Reason, Unmeasurable
from lookaway.judges.errors import Unreadable

APOLOGY = re.compile(
    r"(i.?m |i am )?(very )?(sorry|unable)\b|i (can.?not|can.?t|won.?t|will not|must decline|decline)\b|as an ai\b",
    re.IGNORECASE,
)
SHOWN_CHARACTERS = 160
MAX_LOG_PROBABILITY = 1e-3
"""A probability is at most 1, give or take what servers round."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the answer, or an alternative, with its log-probability."""

    text: str
    log_probability: float
    choices: tuple[Token, ...] = ()
    """The most likely tokens at this position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The parts of a chat completion that matter."""

    text: str
    refusal: str | None
    finish: str | None
    model: str
    tokens: tuple[Token, ...] | None
    """`None` if the server gave no log-probabilities."""
    prompt_tokens: int
    answer_tokens: int


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """A JSON value with all its texts changed, names of fields included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(entry, change) for entry in value]
    if isinstance(value, dict):
        return {change(name): map_texts(entry, change) for name, entry in value.items()}
    return value


def storable(completion: Json) -> Json:
    """A reply that can be written as UTF-8: halves of surrogate pairs become escapes.

    >>> storable({"content": "half \\ud83d of it"})
    {'content': 'half \\\\ud83d of it'}
    """
    return map_texts(completion, lambda text: text.encode("utf-8", "backslashreplace").decode())


def read_reply(completion: Json) -> Reply:
    """Parse a chat completion; raises `Unreadable` if it is not one."""
    choice = _entry(_entry(completion, "choices", list), 0, dict)
    message = _entry(choice, "message", dict)
    usage = completion.get("usage") or {}
    text = message.get("content")
    if text is not None and not isinstance(text, str):
        raise Unreadable(f"the reply's content is {text!r:.80}, expected text.")
    return Reply(
        text=text or "",
        refusal=_text(message.get("refusal")),
        finish=_text(choice.get("finish_reason")),
        model=_text(completion.get("model")) or "",
        tokens=_tokens(choice.get("logprobs")),
        prompt_tokens=_count(usage, "prompt_tokens"),
        answer_tokens=_count(usage, "completion_tokens"),
    )


def refuse_refusals(reply: Reply) -> None:
    """Raise `Unmeasurable` if the judge declined to answer."""
    if reply.refusal is not None:
        raise Unmeasurable(Reason.JUDGE_REFUSED, f"the judge refused: {reply.refusal[:SHOWN_CHARACTERS]!r}.")
    if reply.finish == "content_filter":
        raise Unmeasurable(Reason.JUDGE_REFUSED, "the judge's server withheld the answer (content_filter).")


def is_worded_refusal(reply: Reply) -> bool:
    """Whether an answer that could not be read is an apology."""
    return APOLOGY.match(reply.text.strip()) is not None


def _tokens(found: Json) -> tuple[Token, ...] | None:
    if not isinstance(found, Mapping) or not isinstance(found.get("content"), Sequence) or not found["content"]:
        return None
    return tuple(_token(entry) for entry in found["content"])


def _token(entry: Json) -> Token:
    text, value = _entry(entry, "token", str), _entry(entry, "logprob", int | float)
    if not value <= MAX_LOG_PROBABILITY:
        raise Unreadable(f"the log-probability of {text!r} is {value}, expected at most 0.")
    choices = entry.get("top_logprobs") or []
    if not isinstance(choices, list):
        raise Unreadable(f"the alternatives to {text!r:.80} are {choices!r:.80}, expected a list.")
    return Token(text, float(value), tuple(_token(choice) for choice in choices))


def _entry(found: Json, name: str | int, kind: Any) -> Any:
    try:
        value = found[name]
    except (KeyError, IndexError, TypeError) as error:
        raise Unreadable(f"the reply is not a chat completion: there is no {name!r} in {found!r:.80}.") from error
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Unreadable(f"the reply is not a chat completion: its {name!r} is {value!r:.80}.")
    return value


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(usage: Json, name: str) -> int:
    value = usage.get(name) if isinstance(usage, Mapping) else None
    return value if isinstance(value, int) and value > 0 else 0
