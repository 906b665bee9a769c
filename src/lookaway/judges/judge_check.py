"""Checks a judge on a real clip before a run relies on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from lookaway.core import JudgeHandle, JudgeModel, JudgeUnusable, Picture, Reason, Unmeasurable
from lookaway.judges.errors import NotAnswered, Unreadable
from lookaway.judges.judge_feature import SYSTEM
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion, YesNo, YesNoQuestion
from lookaway.judges.reply import Reply, read_reply
from lookaway.judges.settings import Capabilities, JudgeSettings, probe_capabilities


class Description(Answer):
    """What a judge says it was shown."""

    description: Annotated[str, Field(max_length=2000)]
    frames: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCheck:
    """The results of a check."""

    capabilities: Capabilities
    probe_seconds: float
    described: Description | str
    """The judge's description, or why it could not be read."""
    reply: Reply
    reply_seconds: float
    yes_no: YesNo | str
    """The probability of yes, or why there is none."""


def check_judge(client: JudgeHandle, settings: JudgeSettings, pictures: tuple[Picture, ...]) -> JudgeCheck:
    """Probe the capabilities, then ask two questions about a clip."""
    started = time.perf_counter()
    capabilities = probe_capabilities(client, settings.model, settings.wording)
    probed = time.perf_counter()
    judge = capabilities.judge
    question = TypedQuestion(name="description", prompts=(Prompt.named("check_description"),), answer=Description)
    try:
        reply = read_reply(client.ask(question.request(SYSTEM, judge, pictures, 0)).result())
    except NotAnswered as error:
        raise JudgeUnusable(
            f"The judge {judge.model!r} answers text, but not questions with pictures: {error}"
        ) from error
    answered = time.perf_counter()
    try:
        described: Description | str = question.read(reply)
    except (Unreadable, Unmeasurable) as error:
        described = str(error)
    return JudgeCheck(
        capabilities=capabilities,
        probe_seconds=probed - started,
        described=described,
        reply=reply,
        reply_seconds=answered - probed,
        yes_no=_yes_no(client, judge, pictures),
    )


def _yes_no(client: JudgeHandle, judge: JudgeModel, pictures: tuple[Picture, ...]) -> YesNo | str:
    question = YesNoQuestion(name="yes or no", prompts=(Prompt.named("check_yes_no"),), max_doubt=1e-3)
    try:
        return question.read(read_reply(client.ask(question.request(SYSTEM, judge, pictures, 0)).result()))
    except Unmeasurable as error:
        if error.reason not in (Reason.NO_LOG_PROBABILITIES, Reason.JUDGE_FAILED):
            raise
        return str(error)
