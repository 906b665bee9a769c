from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lookaway.core import MissingExtra
from lookaway.engine.ray_pool import RayPool

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray's own making


def make_square() -> Callable[[int], tuple[int, int]]:
    process = os.getpid()
    return lambda number: (number * number, process)


def make_fragile(marks: Path) -> Callable[[int], int]:
    def work(number: int) -> int:
        mark = marks / str(number)
        if number == 3 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    return work


class Fragile:
    """A worker that can be sent to another process."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks

    def __call__(self) -> Callable[[int], int]:
        return make_fragile(self._marks)


def test_every_item_is_worked_on_once_and_by_several_processes_of_their_own():
    results = list(RayPool(workers=2).map(make_square, range(40)))
    assert sorted(square for square, _ in results) == [number * number for number in range(40)]
    processes = {process for _, process in results}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_an_item_whose_worker_is_killed_is_worked_on_again_and_none_is_lost(tmp_path):
    assert sorted(RayPool(workers=2).map(Fragile(tmp_path), range(8))) == list(range(8))


def test_an_error_in_the_work_reaches_the_caller():
    def make() -> Callable[[int], float]:
        return lambda number: 1 / number

    with pytest.raises(ZeroDivisionError):
        list(RayPool(workers=1).map(make, [1, 0]))


def test_no_items_need_no_results():
    assert list(RayPool(workers=1).map(make_square, [])) == []


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"lookaway\[ray\]"):
        list(RayPool().map(make_square, [1]))
