from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import Case, Rollout
from lookaway.engine.session import Batches
from lookaway.engine.worker import Work


def some_work(count: int) -> list[Work]:
    cases = [Case(id=f"case{number}", subset="all", scene="room") for number in range(count)]
    return [
        Work(rollout=Rollout(case=case, model="alpha", video=Path("v.mp4")), content="c", metrics=("a",))
        for case in cases
    ]


def names(batches: Batches) -> list[list[str]]:
    """What is given until there is nothing more to give for now."""
    return [[work.rollout.case.id for work in batch] for batch in batches]


def test_all_work_is_given_once_and_in_order():
    batches = Batches(some_work(3))
    assert names(batches) == [["case0"], ["case1"], ["case2"]]
    assert names(batches) == []


def test_batches_grow_while_rollouts_are_quick_and_shrink_when_they_are_not():
    batches = Batches(some_work(100), max_size=8)
    sizes = []
    for seconds in (0.001, 0.001, 0.001, 10.0):
        batch = next(batches)
        sizes.append(len(batch))
        batches.adapt(len(batch), seconds)
    assert [*sizes, len(next(batches))] == [1, 4, 8, 8, 1]


def test_a_batch_that_workers_died_of_is_given_again_one_by_one_before_anything_else():
    batches = Batches(some_work(5))
    batches.adapt(1, 0.0)
    batch = next(batches)
    batches.split(batch)
    assert names(batches) == [["case0"], ["case1"], ["case2"], ["case3"], ["case4"]]


def test_what_goes_ahead_is_given_alone_and_nothing_else_before_all_of_it_is_finished():
    work = some_work(6)
    batches = Batches(work, ahead=(work[4], work[2]))
    assert names(batches) == [["case4"], ["case2"]]
    batches.finish(1)
    assert names(batches) == []
    batches.finish(1)
    assert names(batches) == [["case0"], ["case1"], ["case3"], ["case5"]]


def test_quick_rollouts_ahead_are_still_given_alone():
    work = some_work(4)
    batches = Batches(work, ahead=(work[0], work[1]))
    assert [len(next(batches))] == [1]
    batches.adapt(1, 0.0001)
    batches.finish(1)
    assert names(batches) == [["case1"]]
    batches.finish(1)
    assert names(batches) == [["case2", "case3"]]


@pytest.mark.parametrize("continues", [True, False])
def test_whether_the_rest_is_given_is_asked_once_and_only_when_all_ahead_is_finished(continues):
    asked = []
    work = some_work(4)

    def ask() -> bool:
        asked.append("asked")
        return continues

    batches = Batches(work, ahead=work[:2], continues=ask)
    names(batches)
    batches.finish(1)
    assert asked == []
    batches.finish(1)
    assert names(batches) == ([["case2"], ["case3"]] if continues else [])
    batches.finish(2)
    assert asked == ["asked"]
    assert names(batches) == []


def test_without_anything_ahead_continues_is_not_called():
    def ask() -> bool:
        raise AssertionError("must not be called")

    batches = Batches(some_work(2), continues=ask)
    batches.finish(1)
    assert names(batches) == [["case0"], ["case1"]]
