"""A crew counts the workers that died, and what it handed out again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from ray import exceptions

from lookaway.core import GaveUp, RunError
from lookaway.engine.on_ray.worker_pool import WorkerPool

DEATHS = [
    exceptions.ActorDiedError(),
    exceptions.OutOfMemoryError("the machine has no memory left"),
    exceptions.NodeDiedError("the machine is gone"),
]


class Worker:
    """Answers at once; dies where it is told to, and then answers nothing any more."""

    def __init__(self, dies_of: Callable[[Any], bool], death: Exception) -> None:
        self.is_dead = False
        self._death = death
        self._dies_of = dies_of
        self.ready = SimpleNamespace(remote=lambda: Reference(value=lambda: None))
        self.work = SimpleNamespace(remote=self._work)

    def _work(self, item: Any) -> Any:
        self.is_dead = self.is_dead or self._dies_of(item)
        was_dead = self.is_dead

        def value() -> Any:
            if was_dead:
                raise self._death
            return item

        return Reference(value=value)


class Ray:
    """As much of it as a crew needs; everything happens in order."""

    exceptions = exceptions

    def wait(self, references: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        return references[:num_returns], references[num_returns:]

    def get(self, reference: Any) -> Any:
        return reference.value()

    def kill(self, worker: Worker) -> None:
        worker.is_dead = True


class Reference(SimpleNamespace):
    __hash__ = object.__hash__


def crew_that_dies_of(dies_of: Callable[[Any], bool], death: Exception = DEATHS[0]) -> WorkerPool:
    return WorkerPool(Ray(), lambda: Worker(dies_of, death), size=1, at_once=1)


def test_nobody_dies_and_nothing_is_handed_out_again():
    crew = crew_that_dies_of(lambda item: False)
    assert sorted(crew.results(iter(range(5)))) == list(range(5))
    assert (crew.deaths, crew.retries) == (0, 0)


@pytest.mark.parametrize("death", DEATHS, ids=lambda death: type(death).__name__)
def test_one_death_is_counted_once_with_all_that_is_handed_out_again(death):
    deaths = iter([True])
    crew = crew_that_dies_of(lambda item: item == 2 and next(deaths, False), death)
    assert sorted(crew.results(iter(range(5)))) == list(range(5))
    assert crew.deaths == 1
    assert crew.retries in (1, 2)  # the item, and the one that waited beside it


def test_what_is_lost_is_not_handed_out_again():
    crew = crew_that_dies_of(lambda item: item == 0)
    (lost,) = (result for result in crew.results(iter([0])) if isinstance(result, GaveUp))
    assert (lost.workers, crew.deaths, crew.retries) == (3, 3, 2)


def test_what_else_ray_cannot_do_ends_the_run_in_words():
    crew = crew_that_dies_of(lambda item: item == 2, exceptions.ObjectStoreFullError("no room for what travels"))
    with pytest.raises(RunError, match="Ray failed: no room for what travels"):
        list(crew.results(iter(range(5))))
    assert crew.deaths == 0
