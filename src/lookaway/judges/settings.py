"""All that a run needs to know to ask a judge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lookaway.core import Compute, Judge, JudgeHandle, JudgeModel, JudgeRequest, JudgeUnusable, Unmeasurable, plugins
from lookaway.core.judging import Wording
from lookaway.judges.client import JudgeClient, RetryPolicy
from lookaway.judges.errors import NotAnswered, Unreadable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.reply import Reply, read_reply
from lookaway.judges.reply_store import ReplyStore
from lookaway.judges.server import Connection
from lookaway.judges.spending import Budget, Spending

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
class Capabilities:
    """What a judge is, and can do."""

    judge: JudgeModel
    holds_schema: bool
    gives_log_probabilities: bool
    reply: Reply


def probe_capabilities(
    asking: JudgeHandle, judge: JudgeModel, wording: Literal["auto", "schema", "text"] = "auto"
) -> Capabilities:
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
        return Capabilities(
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
    return replace(request, token_choices=words, max_tokens=64)


def _is_ready(reply: Reply) -> bool:
    """Whether the answer is the object that was asked for, with nothing around it."""
    try:
        TypedQuestion(name="", prompts=(), answer=Ready).read(reply)
    except (Unreadable, Unmeasurable):
        return False
    return reply.text.strip().startswith("{")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Who is asked, how, how fast, and for how much."""

    model: JudgeModel
    wording: Literal["auto", "schema", "text"] = "auto"
    """Whether the server holds answers to their schema; by default it is tried."""
    connection: Connection = Connection()
    folder: Path | None = None
    """Of a model that runs in this process."""
    compute: Compute = Compute()
    """Where it runs."""
    policy: RetryPolicy = RetryPolicy()
    budget: Budget = field(default_factory=Budget)
    replies: Path | None = None
    """A folder of replies to share between runs; by default they are kept with the run."""
    is_replay: bool = False

    def asking(self, run: Path, *, workers: int = 1) -> JudgeClient:
        """For one of several workers of a run."""
        return JudgeClient(
            make_judge=None if self.is_replay else self._make_judge,
            replies=ReplyStore(self.replies or run / "replies"),
            spending=Spending(run / "spending.jsonl", self.budget),
            policy=self.policy.share(workers),
        )

    def introduced(self, run: Path) -> JudgeModel:
        """The model as it names itself, after one question of no importance."""
        asking = replace(self, policy=replace(self.policy, tries=min(4, self.policy.tries))).asking(run)
        try:
            return probe_capabilities(asking, self.model, self.wording).judge
        finally:
            asking.close()

    def _make_judge(self) -> Judge:
        judge: Judge = plugins.load("judges", self.model.backend)(self)
        return judge
