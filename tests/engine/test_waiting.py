"""Features that somebody outside this process is asked for, and workers that hold several rollouts while they wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from lookaway.core import (
    BoundMetric,
    BudgetSpent,
    ExtractorBase,
    Feature,
    Lock,
    MetricBase,
    Reason,
    Score,
    Unmeasurable,
)
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.inline import Inline
from lookaway.engine.worker import RolloutWorker, Work
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support.clips import numbered_frames, write_clip
from tests.support.watching import rollout_of


@dataclass(frozen=True)
class Later:
    """A feature that is asked for, and there when somebody waits for it."""

    wait: Callable[[], Feature]

    def result(self) -> Feature:
        return self.wait()


class Talk:
    """What happened, and what goes wrong; no part of a recipe."""

    def __init__(self, problem: Exception | None = None, then: Callable[[], object] | None = None) -> None:
        self.problem, self.then = problem, then
        self.log: list[str] = []


@dataclass(frozen=True)
class Asked(ExtractorBase):
    """A recipe whose feature comes later."""

    said: str
    talk: InitVar[Talk]
    of: Asked | None = None
    name: ClassVar[str] = "asked"
    request: ClassVar[None] = None

    def __post_init__(self, talk: Talk) -> None:
        object.__setattr__(self, "_talk", talk)

    @property
    def needs(self):
        return {"of": self.of} if self.of is not None else {}

    def load(self):
        return self

    def start(self, rollout, timeline, features):
        self._talk.log.append(f"{self.said} begins with {sorted(features)}")
        return self

    def add_frame(self, frame):
        raise AssertionError("no frame was asked for")

    def finish(self):
        self._talk.log.append(f"{self.said} is asked")
        return Later(self._answer)

    def _answer(self):
        self._talk.log.append(f"{self.said} is waited for")
        if self._talk.problem is not None:
            raise self._talk.problem
        if self._talk.then is not None:
            self._talk.then()
        return Feature({"value": np.array([1.0])})


@pytest.fixture
def rollout(tmp_path):
    return rollout_of(write_clip(tmp_path / "clip.mp4", numbered_frames(3)))


def test_all_are_asked_before_any_is_waited_for(rollout):
    talk = Talk()
    one, other = Asked("one", talk), Asked("other", talk)
    job = FeatureJob(Extractors(None), rollout, "content", [one, other])
    job.extract()
    assert [line for line in talk.log if "waited" in line] == []
    assert set(job.wait()) == {one, other}
    assert [line for line in talk.log if "begins" not in line] == [
        "one is asked",
        "other is asked",
        "one is waited for",
        "other is waited for",
    ]


def test_what_is_made_from_an_answer_waits_for_it(rollout):
    talk = Talk()
    first = Asked("first", talk)
    second = Asked("second", talk, of=first)
    found = FeatureJob(Extractors(None), rollout, "content", [second]).run()
    assert all(isinstance(feature, Feature) for feature in found.values())
    assert talk.log.index("first is waited for") < talk.log.index("second begins with ['of']")


def test_only_the_wait_for_an_answer_that_another_feature_needs_is_idle(rollout):
    talk = Talk()
    first = Asked("first", talk)

    @contextmanager
    def idle():
        talk.log.append("idle")
        yield
        talk.log.append("busy")

    FeatureJob(Extractors(None), rollout, "content", [Asked("second", talk, of=first)], idle=idle).run()
    assert [line for line in talk.log if "begins" not in line] == [
        "first is asked",
        "idle",
        "first is waited for",
        "busy",
        "second is asked",
        "second is waited for",
    ]


@dataclass(frozen=True)
class Answered(MetricBase):
    """1 where there is an answer."""

    name = "answered"
    needs = ("value",)

    def measure(self, rollout, features):
        return Score(1.0)


def test_rollouts_that_wait_for_a_gate_do_not_wait_for_each_other(rollout, tmp_path):
    rollouts = [rollout, replace(rollout, model="another")]
    all_wait = threading.Barrier(len(rollouts), timeout=30)
    gate = Asked("gate", Talk(then=all_wait.wait))
    bound = BoundMetric(name="answered", metric=Answered(), recipes={"value": Asked("probe", Talk(), of=gate)})
    folder = RunFolder(tmp_path / "run")
    about = {"suite": "folder", "lock_sha256": Lock({}).sha256, "metrics": [], "problems": []}
    folder.start(Lock({}), [(each, each.id) for each in rollouts], about)
    worker = RolloutWorker(folder, FeatureStore(tmp_path / "features"), {"answered": bound})
    works = [[Work(rollout=each, content=each.id, metrics=("answered",))] for each in rollouts]
    with ThreadPoolExecutor(len(works)) as pool:
        found = [report for batch in pool.map(worker, works) for report in batch.reports]
    assert [(report.scores, report.failures) for report in found] == [(1, 0), (1, 0)]


def test_an_answer_that_does_not_come_is_one_feature_less(rollout):
    problem = Unmeasurable(Reason.JUDGE_FAILED, "nobody there")
    missing, there = Asked("missing", Talk(problem)), Asked("there", Talk())
    found = FeatureJob(Extractors(None), rollout, "content", [missing, there]).run()
    assert found[missing] is problem
    assert isinstance(found[there], Feature)


def test_a_spent_budget_is_no_finding_about_a_rollout(rollout):
    spent = Asked("spent", Talk(BudgetSpent("no more")))
    with pytest.raises(BudgetSpent, match="no more"):
        FeatureJob(Extractors(None), rollout, "content", [spent]).run()


def test_a_worker_holds_as_many_items_as_it_may_and_no_more():
    held, most, lock = set(), [0], threading.Lock()
    all_there = threading.Barrier(4, timeout=10)

    def work(item):
        with lock:
            held.add(item)
            most[0] = max(most[0], len(held))
        all_there.wait()
        with lock:
            held.discard(item)
        return item * item

    found = sorted(Inline().map(lambda clients: work, range(12), at_once=4))
    assert found == [number * number for number in range(12)]
    assert most[0] == 4


def test_items_are_taken_only_as_they_are_needed():
    taken = []

    def items():
        for number in range(100):
            taken.append(number)
            yield number

    results = Inline().map(lambda clients: str, items(), at_once=3)
    next(results)
    assert len(taken) <= 6
    results.close()


class Closing:
    """A worker that notes that it was closed."""

    def __init__(self, work):
        self.work, self.closed = work, 0

    def __call__(self, item):
        return self.work(item)

    def close(self):
        self.closed += 1


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_worker_is_closed_at_the_end_and_after_a_crash(at_once):
    worker = Closing(str)
    assert sorted(Inline().map(lambda clients: worker, range(3), at_once=at_once)) == ["0", "1", "2"]
    assert worker.closed == 1

    def crash(item):
        raise ZeroDivisionError("bug")

    worker = Closing(crash)
    with pytest.raises(ZeroDivisionError, match="bug"):
        list(Inline().map(lambda clients: worker, range(3), at_once=at_once))
    assert worker.closed == 1


def test_what_is_under_way_finishes_when_another_item_ends_the_run():
    finished = []
    crashed = threading.Event()

    def work(item):
        if item == 0:
            crashed.set()
            raise BudgetSpent("no more")
        crashed.wait(10)
        time.sleep(0.05)
        finished.append(item)

    with pytest.raises(BudgetSpent):
        list(Inline().map(lambda clients: work, range(3), at_once=3))
    assert sorted(finished) == [1, 2]
