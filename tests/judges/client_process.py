"""Asks numbered questions from a process of its own: `python -m tests.judges.client_process SETTINGS`.

Writes one line of JSON for each question that got an answer, or a typed reason why not.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil

from lookaway.core import Json, JudgeModel, JudgeRequest, Unmeasurable
from lookaway.judges.client import JudgeClient, RetryPolicy
from lookaway.judges.judge_feature import wait_for_answer
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings

PROMPT = "tests.judges.numbered:number"


class Parity(Answer):
    """What is asked of every number."""

    number: int
    is_even: bool


def numbered(number: int) -> TypedQuestion[Parity]:
    """The question about one number."""
    return TypedQuestion(name=str(number), prompts=(Prompt.named(PROMPT),), answer=Parity, material={"number": number})


def ask_all(client: JudgeClient, judge: JudgeModel, count: int, ahead: int) -> Iterator[dict[str, Any]]:
    """Every question once, so many ahead of the one that is read."""
    waiting: deque[tuple[TypedQuestion[Parity], JudgeRequest, Future[Json]]] = deque()
    for number in range(count + ahead):
        if number < count:
            question = numbered(number)
            request = question.request(Prompt.named("system"), judge, (), 0)
            waiting.append((question, request, client.ask(request)))
        if number >= ahead and waiting:
            question, request, future = waiting.popleft()
            try:
                answer = wait_for_answer(client, question, request, future, [])
                yield {"number": int(question.name), "answer": answer.model_dump()}
            except Unmeasurable as error:
                yield {"number": int(question.name), "reason": error.reason.value, "message": str(error)}


def main(given: dict[str, Any]) -> None:
    """Ask, write, and say how much memory that took."""
    settings = JudgeSettings(
        model=JudgeModel(model="numbers"),
        connection=Connection(url=given["url"], key=Secret(given["key"]), timeout_seconds=given["timeout_seconds"]),
        policy=RetryPolicy(**given["policy"]),
    )
    run = Path(given["run"])
    run.mkdir(exist_ok=True)
    client = settings.open_client(run)
    process = psutil.Process()
    memory = []
    with Path(given["answers"]).open("a", buffering=1) as file:
        for position, line in enumerate(ask_all(client, settings.model, given["count"], given["ahead"])):
            file.write(json.dumps(line) + "\n")
            if position % 500 == 499:
                memory.append(process.memory_info().rss)
    client.close()
    print(json.dumps({"memory": memory}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
