"""Questions and replies for tests of how questions are put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from lookaway.core import Json, JudgeModel, JudgeRequest

QUICK = {"first_wait_seconds": 0.001, "longest_wait_seconds": 0.002, "pause_seconds": 0.02}
"""Manners of tests, which have no time."""


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
    """Replies what a function says, given the question and how often it was put before; raises what is an exception."""

    def __init__(self, say: Callable[[JudgeRequest, int], Any] = lambda request, before: completion()) -> None:
        self.say = say
        self.asked: Counter[str] = Counter()
        self.under_way = self.max_under_way = 0
        self.is_closed = False

    async def reply(self, request: JudgeRequest) -> Json:
        before = self.asked[request.instruction]
        self.asked[request.instruction] += 1
        self.under_way += 1
        self.max_under_way = max(self.max_under_way, self.under_way)
        try:
            said = self.say(request, before)
            if hasattr(said, "__await__"):
                said = await said
        finally:
            self.under_way -= 1
        if isinstance(said, Exception):
            raise said
        return said

    async def close(self) -> None:
        self.is_closed = True
