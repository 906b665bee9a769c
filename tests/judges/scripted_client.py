"""A judge client with scripted answers, and recipes that use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.core import Case, Feature, Frame, JudgeModel, JudgeRequest, Rollout, Target, Timeline
from lookaway.judges.judge_feature import JudgeFeature
from lookaway.judges.reply import Reply, read_reply

JUDGE = JudgeModel(model="judge", reported="judge-of-may")
HEIGHT, WIDTH = 6, 8


@dataclass
class ScriptedClient:
    """Answers with what a function makes of the question: a completion, or an exception."""

    script: Callable[[JudgeRequest], Any]
    requests: list[JudgeRequest] = field(default_factory=list)

    def ask(self, request: JudgeRequest) -> Future[Any]:
        self.requests.append(request)
        future: Future[Any] = Future()
        answer = self.script(request)
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
        return future


def saying(*answers: Any) -> ScriptedClient:
    """Gives one answer after the other, whatever is asked."""
    left = list(answers)
    return ScriptedClient(lambda request: left.pop(0))


def completion(content: Any, *, model: str = JUDGE.reported, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion; what is no text is written as JSON."""
    text = content if content is None or isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
    return {"model": model, "choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}


def words(likely: dict[str, float]) -> dict[str, Any]:
    """A completion of one word, with the log-probabilities of likely words."""
    listed = [{"token": text, "logprob": value, "bytes": None} for text, value in likely.items()]
    answer = completion(next(iter(likely), ""), finish="length")
    first = {**(listed[0] if listed else {"token": "", "logprob": 0.0}), "top_logprobs": listed}
    answer["choices"][0]["logprobs"] = {"content": [first]}
    return answer


def reply(content: Any, **fields: Any) -> Reply:
    """A completion as it is read."""
    return read_reply(completion(content, **fields))


def rollout_of(
    *prompt: str, target: str | None = None, artifacts: dict[str, Path] | None = None, case: str = "kitchen"
) -> Rollout:
    """A rollout of a case of which text is known."""
    named = Target(name=target) if target else None
    return Rollout(
        case=Case(id=case, subset="all", scene="kitchen", prompt=prompt, target=named),
        model="model",
        video=Path("clip.mp4"),
        artifacts=artifacts or {},
    )


def judged(
    recipe: JudgeFeature,
    client: ScriptedClient,
    rollout: Rollout,
    times_seconds: Sequence[float] = (0.0, 0.5, 1.0, 1.5),
) -> Feature:
    """What a recipe makes of the answers about a video with frames at these times."""
    assert recipe.declines(rollout) is None
    timeline = Timeline(np.array(times_seconds), WIDTH, HEIGHT)
    extraction = recipe.load_with(client).start(rollout, timeline, {})
    for index in sorted(extraction.request.indices):
        pixels = np.full((HEIGHT, WIDTH, 3), index, np.uint8)
        extraction.add_frame(Frame(index, float(times_seconds[index]), pixels))
    return extraction.finish().result()
