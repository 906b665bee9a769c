"""Waits for an answer and reads it, with one correction."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from lookaway.core import Asking, Json, JudgeRequest, Reason, Unmeasurable
from lookaway.judges.faults import Unreadable
from lookaway.judges.question import Question
from lookaway.judges.reply import Reply, read_reply

CORRECTION = "Your answer could not be read. {complaint} Answer the same question again, with the JSON object alone."

Read = TypeVar("Read")


def heard(
    asking: Asking, question: Question[Read], request: JudgeRequest, future: Future[Json], keys: list[Json]
) -> Read:
    """The answer to a question that was put, asked for once more where it cannot be read; `keys` gets its replies'."""
    try:
        reply = _checked(future.result(), request, keys)
        try:
            return question.read(reply)
        except Unreadable as error:
            request = request.corrected(reply.text, CORRECTION.format(complaint=error))
        return question.read(_checked(asking.ask(request).result(), request, keys))
    except Unreadable as error:
        raise Unmeasurable(
            Reason.JUDGE_FAILED, f"{question.name}: the judge's answer cannot be read, nor its correction. {error}"
        ) from error
    except Unmeasurable as error:
        raise Unmeasurable(error.reason, f"{question.name}: {error}") from error


def _checked(completion: Json, request: JudgeRequest, keys: list[Json]) -> Reply:
    """The reply, where it is of the model that the lock names."""
    keys.append(request.key())
    reply, expected = read_reply(completion), request.judge.reported
    if expected and reply.model != expected:
        raise Unmeasurable(
            Reason.JUDGE_FAILED,
            f"another model answered: {reply.model!r}, expected {expected!r}. Its answers do not belong together "
            "with the others; name one exact model, or start a new run.",
        )
    return reply
