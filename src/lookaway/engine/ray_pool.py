"""Runs work on Ray: the cores of this machine, or a cluster."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from lookaway.core import MissingExtra

Item = TypeVar("Item")
Result = TypeVar("Result")
WAITING_PER_WORKER = 1
"""The next item waits beside its worker, so that no worker waits for the driver."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}
"""Linear algebra, and the software renderer of the simulated world."""
RETRIES = 2
"""How often an item is tried again when its worker dies."""


class RayPool:
    """So many workers, each made once; an item whose worker dies is tried again by a new one."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or os.cpu_count() or 1

    @property
    def workers(self) -> int:
        """As many as were asked for; by default as many as there are cores."""
        return self._workers

    def map(
        self, make_worker: Callable[[], Callable[[Item], Result]], items: Iterable[Item], at_once: int = 1
    ) -> Iterator[Result]:
        """Results in the order in which they are finished."""
        ray = _load()
        is_ours = not ray.is_initialized()
        if is_ours:
            ray.init(
                num_cpus=self._workers,
                include_dashboard=False,
                configure_logging=True,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        try:
            yield from self._map(ray, make_worker, iter(items), at_once)
        finally:
            if is_ours:
                ray.shutdown()

    def _map(
        self, ray: Any, make_worker: Callable[[], Callable[[Item], Result]], items: Iterator[Item], at_once: int
    ) -> Iterator[Result]:
        kind = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=RETRIES, max_concurrency=at_once)(_Worker)
        actors = [kind.remote(make_worker) for _ in range(self._workers)]
        try:
            yield from _results(ray, [actor for actor in actors for _ in range(at_once + WAITING_PER_WORKER)], items)
        finally:
            for actor in actors:  # so that a cluster has its cores back at once
                ray.kill(actor)


def _results(ray: Any, idle: list[Any], items: Iterator[Any]) -> Iterator[Any]:
    """`idle` names a worker as often as it can be given an item."""
    busy: dict[Any, Any] = {}
    while True:
        while idle and (item := next(items, _NOTHING)) is not _NOTHING:
            actor = idle.pop(0)
            busy[actor.work.remote(item)] = actor
        if not busy:
            return
        ready, _ = ray.wait(list(busy), num_returns=1)
        idle.append(busy.pop(ready[0]))
        try:
            result = ray.get(ready[0])
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error  # as it would be without Ray
        yield result


class _Worker:
    def __init__(self, make_worker: Callable[[], Callable[[Any], Any]]) -> None:
        # Libraries that start a thread per core would fight each other; the parallelism is over items.
        os.environ.update(ONE_THREAD)
        self._work = make_worker()

    def work(self, item: Any) -> Any:
        return self._work(item)


_NOTHING: Any = object()


def _load() -> Any:
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("The executor `ray`", "ray") from error
    return ray
