"""Requests and replies for tests of how requests are sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from lookaway.core import Json, JudgeModel, JudgeRequest

QUICK = {"first_wait_seconds": 0.001, "longest_wait_seconds": 0.002, "pause_seconds": 0.02}
"""A retry policy for tests, which have no time."""


def question(number: int = 0, **changes: Any) -> JudgeRequest:
    """One of many questions."""
    judge = JudgeModel(model="asked", reported="answering")
    return JudgeRequest(**{"judge": judge, "system": "Rules.", "instruction": f"Question {number}.", **changes})


def completion(text: str = "yes", model: str = "answering") -> Json:
    """What a server replies."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", "logprobs": None}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }


class ScriptedJudge:
    """Replies what a function returns, given the request and how often it was sent before; raises exceptions."""

    def __init__(self, say: Callable[[JudgeRequest, int], Any] = lambda request, before: completion()) -> None:
        self.say = say
        self.received: Counter[str] = Counter()
        self.in_flight = self.max_in_flight = 0
        self.is_closed = False

    async def reply(self, request: JudgeRequest) -> Json:
        before = self.received[request.instruction]
        self.received[request.instruction] += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            reply = self.say(request, before)
            if hasattr(reply, "__await__"):
                reply = await reply
        finally:
            self.in_flight -= 1
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        self.is_closed = True
