"""The first question to a judge: which model it is, and what its server can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lookaway.core import Asking, JudgeModel, JudgeRequest, JudgeUnusable, Unmeasurable
from lookaway.core.judging import Wording
from lookaway.judges.faults import NotAnswered, Unreadable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.reply import Reply, read_reply

TRIES: tuple[tuple[Wording, int, int], ...] = (
    ("schema", 5, 0),
    ("schema", 5, 1),
    ("schema", 0, 1),
    ("text", 5, 0),
    ("text", 0, 0),
)
"""With a schema or without, how many likely words are wanted, and which repeat it is."""


class Ready(Answer):
    """That a judge is there."""

    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a judge is, and can do."""

    judge: JudgeModel
    holds_schema: bool
    gives_log_probabilities: bool
    reply: Reply


def introduce(asking: Asking, judge: JudgeModel, wording: Literal["auto", "schema", "text"] = "auto") -> Introduction:
    """Ask with everything, and with less where the server refuses that or does not hold to it.

    The replies are kept like all others, so that a resumed run and a replay know the same judge.
    """
    problem: Exception | None = None
    for tried, words, repeat in TRIES:
        if tried == "text" and wording == "schema":
            continue
        try:
            question = _question(replace(judge, wording=tried, reported=""), words, repeat)
            reply = read_reply(asking.ask(question).result())
        except NotAnswered as error:
            if not error.is_lasting:
                raise JudgeUnusable(f"The judge {judge.model!r} cannot be asked: {error}") from error
            problem = problem or error
            continue
        holds_schema = tried == "schema" and _is_ready(reply)
        if (tried, repeat) == ("schema", 0) and not holds_schema:
            continue  # a slip of the tongue, maybe
        return Introduction(
            judge=replace(judge, wording=_wording(wording, holds_schema), reported=reply.model),
            holds_schema=holds_schema,
            gives_log_probabilities=bool(reply.tokens and reply.tokens[0].choices),
            reply=reply,
        )
    raise JudgeUnusable(f"The judge {judge.model!r} cannot be asked: {problem}") from problem


def _wording(wanted: Literal["auto", "schema", "text"], holds_schema: bool) -> Wording:
    if wanted == "auto":
        return "schema" if holds_schema else "text"
    return wanted


def _question(judge: JudgeModel, words: int, repeat: int) -> JudgeRequest:
    question = TypedQuestion(name="introduction", prompts=(Prompt.named("introduction"),), answer=Ready)
    request = question.request(Prompt.named("system"), judge, (), repeat)
    return replace(request, token_choices=words, most_tokens=64)


def _is_ready(reply: Reply) -> bool:
    """Whether the answer is the object that was asked for, with nothing around it."""
    try:
        TypedQuestion(name="", prompts=(), answer=Ready).read(reply)
    except (Unreadable, Unmeasurable):
        return False
    return reply.text.strip().startswith("{")
