"""The judge settings of a run, and the probe of what a judge supports."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from lookaway.core import (
    Compute,
    Json,
    Judge,
    JudgeHandle,
    JudgeModel,
    JudgeRequest,
    JudgeUnusable,
    Unmeasurable,
    UserError,
    plugins,
)
from lookaway.core.judging import Wording
from lookaway.judges.budget import Budget, Spending
from lookaway.judges.client import JudgeClient, RetryPolicy
from lookaway.judges.errors import NotAnswered, Unreadable
from lookaway.judges.prompt_folder import PromptFolder
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.reply import Reply, read_reply
from lookaway.judges.reply_store import ReplyStore
from lookaway.judges.server import Connection

TRIES: tuple[tuple[Wording, int, int], ...] = (
    ("schema", 5, 0),
    ("schema", 5, 1),
    ("schema", 0, 1),
    ("text", 5, 0),
    ("text", 0, 0),
)
"""Probes in order: with a schema or without, number of log-probabilities, and repeat."""


class Ready(Answer):
    """That a judge is there."""

    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The model that answers, and what its server supports."""

    judge: JudgeModel
    holds_schema: bool
    gives_log_probabilities: bool
    reply: Reply


def probe_capabilities(
    client: JudgeHandle, judge: JudgeModel, wording: Literal["auto", "schema", "text"] = "auto"
) -> Capabilities:
    """Send a request with all features, and with fewer if the server refuses or ignores them.

    The replies are stored like all others, so that a resumed run and a replay find the same capabilities.
    """
    problem: Exception | None = None
    for tried, words, repeat in TRIES:
        if tried == "text" and wording == "schema":
            continue
        try:
            question = _question(replace(judge, wording=tried, reported=""), words, repeat)
            reply = read_reply(client.ask(question).result())
        except NotAnswered as error:
            if not error.is_permanent:
                raise JudgeUnusable(f"The judge {judge.model!r} cannot be used: {error}") from error
            problem = problem or error
            continue
        holds_schema = tried == "schema" and _is_ready(reply)
        if (tried, repeat) == ("schema", 0) and not holds_schema:
            continue  # may be a single bad answer: probe once more
        return Capabilities(
            judge=replace(judge, wording=_wording(wording, holds_schema), reported=reply.model),
            holds_schema=holds_schema,
            gives_log_probabilities=bool(reply.tokens and reply.tokens[0].choices),
            reply=reply,
        )
    raise JudgeUnusable(f"The judge {judge.model!r} cannot be used: {problem}") from problem


def _wording(requested: Literal["auto", "schema", "text"], holds_schema: bool) -> Wording:
    if requested == "auto":
        return "schema" if holds_schema else "text"
    return requested


def _question(judge: JudgeModel, words: int, repeat: int) -> JudgeRequest:
    question = TypedQuestion(name="introduction", prompts=(Prompt.named("introduction"),), answer=Ready)
    request = question.request(Prompt.named("system"), judge, (), repeat)
    return replace(request, token_choices=words, max_tokens=64)


def _is_ready(reply: Reply) -> bool:
    """Whether the answer is exactly the requested object."""
    try:
        TypedQuestion(name="", prompts=(), answer=Ready).read(reply)
    except (Unreadable, Unmeasurable):
        return False
    return reply.text.strip().startswith("{")


@dataclass(frozen=True, slots=True)
class JudgeClients:
    """Sends each request to the judge that it names."""

    by_model: Mapping[str, JudgeClient]

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """The reply, stored or new."""
        return self.by_model[request.judge.model].ask(request)

    def close(self) -> None:
        """Cancel all requests in flight, and stop all threads."""
        for client in self.by_model.values():
            client.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """Which model is asked, how, how fast, and within which budget."""

    model: JudgeModel
    wording: Literal["auto", "schema", "text"] = "auto"
    """Whether the server enforces JSON schemas; by default it is probed."""
    connection: Connection = Connection()
    folder: Path | None = None
    """The folder of a model that runs in this process."""
    compute: Compute = Compute()
    """Where a local model runs."""
    policy: RetryPolicy = RetryPolicy()
    budget: Budget = field(default_factory=Budget)
    prompts: PromptFolder | None = None
    """Prompts in place of ours; by default all questions are asked in our own wording."""
    replies: Path | None = None
    """A folder of replies to share between runs; by default they are stored with the run."""
    is_replay: bool = False
    gate: JudgeSettings | None = None
    """The judge of gates, another model; by default the same judge answers all questions."""

    def __post_init__(self) -> None:
        if self.gate is not None and self.gate.model.model == self.model.model:
            raise UserError(
                f"The judge of gates is {self.model.model!r}, as the judge of all other questions is. Leave it out, or "
                "name another model."
            )

    def open_clients(self, run: Path, *, workers: int = 1) -> JudgeClient | JudgeClients:
        """A client for one of several workers of a run, or one of each judge."""
        own = self.open_client(run, workers=workers)
        if self.gate is None:
            return own
        return JudgeClients({self.model.model: own, self.gate.model.model: self.gate.open_client(run, workers=workers)})

    def open_client(self, run: Path, *, workers: int = 1) -> JudgeClient:
        """A client for one of several workers of a run."""
        return JudgeClient(
            make_judge=None if self.is_replay else self._make_judge,
            replies=ReplyStore(self.replies or run / "replies"),
            spending=Spending(run / "spending.jsonl", self.budget),
            policy=self.policy.share(workers),
        )

    def identify(self, run: Path) -> JudgeModel:
        """The model with the name that its server reports, after a probe."""
        client = replace(self, policy=replace(self.policy, tries=min(4, self.policy.tries))).open_client(run)
        try:
            return probe_capabilities(client, self.model, self.wording).judge
        finally:
            client.close()

    def _make_judge(self) -> Judge:
        judge: Judge = plugins.load("judges", self.model.backend)(self)
        return judge
