from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import ray

import lookaway
from lookaway.core import MissingExtra, Resources, RunError, ServiceClients
from lookaway.engine.on_ray.cluster import start_local
from lookaway.engine.on_ray.executor import RayExecutor
from lookaway.world.exports import export_world
from tests.support.rendered import copy_small

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.ray]  # warnings are of Ray's own making


@pytest.fixture(scope="module")
def cluster():
    """Ray as it runs where somebody else has started it."""
    start_local(ray, num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def make_square(clients: ServiceClients) -> Callable[[int], tuple[int, int]]:
    process = os.getpid()
    return lambda number: (number * number, process)


class MeetOthers:
    """Workers that begin when both of them are there."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks

    def __call__(self, clients: ServiceClients) -> Callable[[int], tuple[int, int]]:
        (self._marks / str(os.getpid())).touch()

        def work(number: int) -> tuple[int, int]:
            while len(list(self._marks.iterdir())) < 2:
                time.sleep(0.01)
            return number * number, os.getpid()

        return work


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

    def __call__(self, clients: ServiceClients) -> Callable[[int], int]:
        return make_fragile(self._marks)


def test_every_item_is_worked_on_once_and_by_several_processes_of_their_own(cluster, tmp_path):
    results = list(RayExecutor(Resources(workers=2)).map(MeetOthers(tmp_path), range(40)))
    assert sorted(square for square, _ in results) == [number * number for number in range(40)]
    processes = {process for _, process in results}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_an_item_whose_worker_is_killed_is_worked_on_again_and_none_is_lost(cluster, tmp_path):
    assert sorted(RayExecutor(Resources(workers=2)).map(Fragile(tmp_path), range(8))) == list(range(8))


def test_an_error_in_the_work_reaches_the_caller(cluster):
    def make(clients: ServiceClients) -> Callable[[int], float]:
        return lambda number: 1 / number

    with pytest.raises(ZeroDivisionError):
        list(RayExecutor(Resources(workers=1)).map(make, [1, 0]))


def test_an_error_keeps_its_own_message(cluster):
    def make(clients: ServiceClients) -> Callable[[int], None]:
        def work(_: int) -> None:
            raise MissingExtra("This", "world")

        return work

    with pytest.raises(MissingExtra) as caught:
        list(RayExecutor(Resources(workers=1)).map(make, [1]))
    assert str(caught.value) == str(MissingExtra("This", "world"))


class FailingBesideOthers:
    """The first item fails while another worker is at the third."""

    def __init__(self, marks: Path) -> None:
        self._marks = marks

    def __call__(self, clients: ServiceClients) -> Callable[[int], None]:
        def work(number: int) -> None:
            (self._marks / f"begun {number}").touch()
            if number == 0:
                while not (self._marks / "begun 2").exists():
                    time.sleep(0.01)
                raise RunError("the disk is full")
            time.sleep(1.0)
            (self._marks / f"finished {number}").touch()

        return work


def test_what_others_are_at_is_finished_before_an_error_ends_the_work(cluster, tmp_path):
    with pytest.raises(RunError, match="the disk is full"):
        list(RayExecutor(Resources(workers=2)).map(FailingBesideOthers(tmp_path), range(3)))
    assert (tmp_path / "finished 2").exists()


def test_no_items_need_no_results(cluster):
    assert list(RayExecutor(Resources(workers=1)).map(make_square, [])) == []


def test_a_cluster_of_others_is_left_running_and_has_its_cores_back(cluster):
    for _ in range(3):
        assert len(list(RayExecutor(Resources(workers=2)).map(make_square, range(4)))) == 4
    assert ray.is_initialized()


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"lookaway\[ray\]"):
        list(RayExecutor().map(make_square, [1]))


def test_ray_that_was_started_for_the_work_is_stopped_after_it():
    ray.shutdown()
    assert sorted(square for square, _ in RayExecutor(Resources(workers=1)).map(make_square, [2, 3])) == [4, 9]
    assert not ray.is_initialized()


def test_rollouts_measured_by_ray_and_in_this_process_give_the_same_table(tmp_path):
    copy_small(tmp_path / "world", events=("none",), faults=("layout_change",), severities=(1.0,))
    export_world(tmp_path / "world", "mbench-a", tmp_path / "data")
    tables = [
        lookaway.evaluate(tmp_path / "data", tmp_path / name, executor=name).table() for name in ("inline", "ray")
    ]
    assert tables[0] == tables[1]
    assert len(tables[0].cells) == 2 * 6  # of two models, the published metrics of both subsets
