"""Workers that come when there is room for them, and are replaced when they die."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lookaway.core import GaveUp, RunError

LOG = logging.getLogger(__name__)
WAITING_PER_WORKER = 1
"""The next item waits beside its worker, so that no worker waits for the driver."""
DEATHS_PER_ITEM = 3
"""After so many workers died of it, an item is lost."""
DEATHS_AT_START = 5
"""After so many workers in a row died before they were ready, the run ends."""
SECONDS_WITHOUT_WORKERS = 20.0
SECONDS_TO_FINISH = 30.0
"""When the run ends with an error, for what others are at: what is measured and what a judge was asked is not lost."""


class WorkerGone(Exception):
    """A worker died, by itself, for want of memory, or with its machine."""


@dataclass(slots=True, eq=False)
class _Task:
    item: Any
    deaths: int = 0


@dataclass(slots=True)
class WorkerPool:
    """So many workers over some items. What a worker held when it died is given to others."""

    ray: Any
    start_worker: Callable[[], Any]
    """Begins to make one more worker."""
    size: int
    at_once: int
    deaths: int = 0
    retries: int = 0
    """Items that were handed out again."""
    _starting: dict[Any, Any] = field(default_factory=dict)
    """Worker by the word that it is ready."""
    _busy: dict[Any, tuple[Any, _Task]] = field(default_factory=dict)
    """Worker and task by the result to come; of one worker in the order of starting."""
    _free: deque[Any] = field(default_factory=deque)
    """A worker as often as it can be given an item."""
    _again: deque[_Task] = field(default_factory=deque)
    _deaths_at_start: int = 0

    def results(self, items: Iterator[Any]) -> Iterator[Any]:
        """Results as they are finished, and items that workers died of as `GaveUp`."""
        try:
            for _ in range(self.size):
                self._start_one()
            while True:
                self._hand_out(items)
                if not self._busy and not self._again and self._free:
                    return
                for reference in self._ready():
                    yield from self._take(reference)
        except Exception:
            if self._busy:
                self.ray.wait(list(self._busy), num_returns=len(self._busy), timeout=SECONDS_TO_FINISH)
            raise
        finally:
            for worker in {*self._starting.values(), *(worker for worker, _ in self._busy.values()), *self._free}:
                self.ray.kill(worker)  # so that a cluster has its cores back at once

    def _start_one(self) -> None:
        worker = self.start_worker()
        self._starting[worker.ready.remote()] = worker

    def _hand_out(self, items: Iterator[Any]) -> None:
        while self._free:
            if self._again:
                task = self._again.popleft()
            elif (item := next(items, _NOTHING)) is not _NOTHING:
                task = _Task(item)
            else:
                return
            worker = self._free.popleft()
            self._busy[worker.work.remote(task.item)] = (worker, task)

    def _ready(self) -> list[Any]:
        """What happened: everything that did until now, and at least one thing."""
        waiting = [*self._starting, *self._busy]
        while True:
            some, _ = self.ray.wait(waiting, num_returns=1, timeout=SECONDS_WITHOUT_WORKERS)
            if some:
                more, _ = self.ray.wait(waiting, num_returns=len(waiting), timeout=0)
                return list(more)
            if not self._busy:
                free = self.ray.available_resources()
                LOG.warning(
                    "Waiting for a worker: the cluster has %g cores and %g GPUs free.",
                    free.get("CPU", 0),
                    free.get("GPU", 0),
                )

    def _take(self, reference: Any) -> Iterator[Any]:
        if reference in self._starting:
            self._on_ready(self._starting.pop(reference), reference)
        elif reference in self._busy:
            worker, _ = self._busy[reference]
            try:
                result = self._result(reference)
            except WorkerGone as error:
                yield from self._replace_dead(worker, error)
                return
            del self._busy[reference]
            self._free.append(worker)
            yield result

    def _on_ready(self, worker: Any, reference: Any) -> None:
        try:
            self._result(reference)
        except WorkerGone as error:
            self.deaths += 1
            self._deaths_at_start += 1
            if self._deaths_at_start >= DEATHS_AT_START:
                raise RunError(
                    f"{DEATHS_AT_START} workers in a row died before they could begin: {error} "
                    "Give them more memory, or take fewer of them with --workers."
                ) from error
            self._start_one()
            return
        self._deaths_at_start = 0
        self._free.extend([worker] * (self.at_once + WAITING_PER_WORKER))

    def _replace_dead(self, dead: Any, error: Exception) -> Iterator[Any]:
        """Replace a worker. What it was working on counts a death; what only waited beside it does not."""
        LOG.info("A worker died and is replaced: %s", error)
        self.deaths += 1
        self._free = deque(worker for worker in self._free if worker is not dead)
        held = [(reference, task) for reference, (worker, task) in self._busy.items() if worker is dead]
        for position, (reference, task) in enumerate(held):
            del self._busy[reference]
            try:
                yield self._result(reference)
                continue
            except WorkerGone:
                task.deaths += position < self.at_once
            if task.deaths < DEATHS_PER_ITEM:
                self._again.append(task)
                self.retries += 1
            else:
                yield GaveUp(task.item, task.deaths)
        self._start_one()

    def _result(self, reference: Any) -> Any:
        known = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except known.RayTaskError as error:
            raise error.cause from error  # as it would be without Ray
        except (known.RayActorError, known.OutOfMemoryError, known.NodeDiedError) as error:
            raise WorkerGone(str(error)) from error
        except known.RayError as error:
            raise RunError(
                f"Ray cannot go on: {error} What is finished is kept; run the same command again."
            ) from error


_NOTHING: Any = object()
