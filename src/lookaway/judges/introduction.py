"""The first question to a judge: which model it is, and what its server can do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from lookaway.core import Asking, JudgeModel, JudgeRequest, JudgeUnusable, Unmeasurable
from lookaway.core.judging import Wording
from lookaway.judges.faults import Unreadable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.reply import Reply, read_reply

WANTED_WORDS = 5


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
    """Ask once with everything, and with less where the server refuses that.

    Its reply is kept like all others, so that a resumed run and a replay know the same judge.
    """
    problem: Exception | None = None
    tries: tuple[tuple[Wording, int], ...] = (("schema", WANTED_WORDS), ("text", WANTED_WORDS), ("text", 0))
    if wording == "schema":
        tries = (("schema", WANTED_WORDS), ("schema", 0))
    for tried, words in tries:
        question = _question(replace(judge, wording=tried, repeats=1), words)
        try:
            reply = read_reply(asking.ask(question).result())
        except (Unmeasurable, Unreadable) as error:
            problem = problem or error
            continue
        holds_schema = tried == "schema" and _is_ready(reply)
        said: Wording = "schema" if wording == "schema" or (wording == "auto" and holds_schema) else "text"
        return Introduction(
            judge=replace(judge, wording=said, reported=reply.model),
            holds_schema=holds_schema,
            gives_log_probabilities=bool(reply.tokens and reply.tokens[0].choices),
            reply=reply,
        )
    raise JudgeUnusable(f"The judge {judge.model!r} cannot be asked: {problem}") from problem


def _question(judge: JudgeModel, words: int) -> JudgeRequest:
    question = TypedQuestion(name="introduction", prompts=(Prompt.named("introduction"),), answer=Ready)
    request = question.request(Prompt.named("system"), judge, (), 0)
    return replace(request, token_choices=words, most_tokens=64)


def _is_ready(reply: Reply) -> bool:
    """Whether the answer is the object that was asked for, with nothing around it."""
    try:
        TypedQuestion(name="", prompts=(), answer=Ready).read(reply)
    except (Unreadable, Unmeasurable):
        return False
    return reply.text.strip().startswith("{")
