from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from lookaway.core import Compute, Json, Judge, JudgeRequest, JudgeUnusable
from lookaway.judges.local import judge as judge_module
from lookaway.judges.local.judge import LocalJudge, answer
from lookaway.judges.local.network import Network
from tests.judges.local.questions import JUDGE, question


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A network that takes a while, and counts how often it was loaded and how many asked it at once."""
    counts = {"loaded": 0, "asking": 0, "at most": 0, "answered": 0}

    def load(*_: Any) -> SimpleNamespace:
        counts["loaded"] += 1
        return SimpleNamespace(model=torch.zeros(1))

    def answer_slowly(*_: Any) -> Json:
        counts["asking"] += 1
        counts["at most"] = max(counts["at most"], counts["asking"])
        time.sleep(0.05)
        counts["asking"] -= 1
        counts["answered"] += 1
        return {}

    monkeypatch.setattr(judge_module, "load_network", load)
    monkeypatch.setattr(judge_module, "answer", answer_slowly)
    return counts


def test_a_judge_says_what_its_network_says(published: Path, network: Network) -> None:
    async def ask() -> list[Json]:
        judge: Judge = LocalJudge(published, Compute())
        try:
            return [await judge.reply(request) for request in (question(), question())]
        finally:
            await judge.close()

    first, second = asyncio.run(ask())
    assert json.dumps(first) == json.dumps(second) == json.dumps(answer(network, question()))


def test_questions_wait_for_one_another_and_the_loop_for_none(slow: dict[str, int], published: Path) -> None:
    async def ask() -> int:
        judge, ticks = LocalJudge(published, Compute()), 0
        asked = asyncio.gather(*(judge.reply(question()) for _ in range(4)))
        while not asked.done():
            await asyncio.sleep(0.005)
            ticks += 1
        await asked
        await judge.close()
        return ticks

    assert asyncio.run(ask()) > 5
    assert (slow["loaded"], slow["at most"], slow["answered"]) == (1, 1, 4)


def test_a_question_that_is_given_up_does_not_meet_the_next(slow: dict[str, int], published: Path) -> None:
    async def ask() -> None:
        judge = LocalJudge(published, Compute())
        given_up = asyncio.ensure_future(judge.reply(question()))
        while not slow["asking"]:
            await asyncio.sleep(0.005)
        given_up.cancel()
        await judge.reply(question())
        await judge.close()

    asyncio.run(ask())
    assert (slow["at most"], slow["answered"]) == (1, 2)


def test_closing_lets_go_of_the_network(published: Path) -> None:
    async def ask() -> None:
        judge = LocalJudge(published, Compute())
        await judge.reply(question())
        assert judge._network is not None
        held = weakref.ref(judge._network.model)
        await judge.close()
        gc.collect()
        assert held() is None
        await judge.close()

    asyncio.run(ask())


def test_nothing_is_loaded_before_the_first_question(tmp_path: Path) -> None:
    async def ask() -> None:
        judge = LocalJudge(tmp_path / "nowhere", Compute())
        with pytest.raises(JudgeUnusable, match="does not exist"):
            await judge.reply(question())
        await judge.close()

    asyncio.run(ask())


def test_a_lack_of_memory_is_not_an_answer(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def burst(*_: Any) -> Json:
        raise torch.OutOfMemoryError("no memory")

    async def ask() -> None:
        judge = LocalJudge(published, Compute())
        monkeypatch.setattr(judge_module, "answer", burst)
        try:
            with pytest.raises(torch.OutOfMemoryError):
                await judge.reply(question())
        finally:
            await judge.close()

    asyncio.run(ask())


@pytest.mark.parametrize("changes", [{"media": "jpeg"}, {"media": "video"}, {"extra": '{"min_p": 0.1}'}])
def test_settings_of_servers_are_refused_before_anything_is_loaded(tmp_path: Path, changes: dict[str, Any]) -> None:
    request: JudgeRequest = question(judge=replace(JUDGE, **changes))

    async def ask() -> None:
        judge = LocalJudge(tmp_path, Compute())
        with pytest.raises(JudgeUnusable, match="lossless"):
            await judge.reply(request)
        await judge.close()

    asyncio.run(ask())
