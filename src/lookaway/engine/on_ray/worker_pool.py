"""A pool of workers that start when the cluster has resources for them, and are replaced when they die."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lookaway.core import GaveUp, LastResult, RunError

LOG = logging.getLogger(__name__)
WAITING_PER_WORKER = 1
"""Items queued at each worker, so that no worker waits for the driver."""
DEATHS_PER_ITEM = 3
"""An item that this many workers died of is given up."""
DEATHS_AT_START = 5
"""The run ends when this many workers in a row died before they were ready."""
SECONDS_WITHOUT_WORKERS = 20.0
SECONDS_TO_FINISH = 30.0
"""For other items when a run ends with an error, so that measurements and judge calls are not lost."""


class WorkerGone(Exception):
    """A worker died: it crashed, ran out of memory, or its machine is gone."""


@dataclass(slots=True, eq=False)
class _Task:
    item: Any
    deaths: int = 0


@dataclass(slots=True)
class WorkerPool:
    """Runs items on workers; the items of a worker that died are given to others."""

    ray: Any
    start_worker: Callable[[], Any]
    """Starts one more worker."""
    size: int
    at_once: int
    deaths: int = 0
    retries: int = 0
    """Items that were retried."""
    _starting: dict[Any, Any] = field(default_factory=dict)
    """Worker by the reference that says it is ready."""
    _busy: dict[Any, tuple[Any, _Task]] = field(default_factory=dict)
    """Worker and task by the reference of the result; those of one worker in order of start."""
    _free: deque[Any] = field(default_factory=deque)
    """A worker once for each item that it can take."""
    _retry_queue: deque[_Task] = field(default_factory=deque)
    _deaths_at_start: int = 0

    def results(self, items: Iterator[Any]) -> Iterator[Any]:
        """Results in order of completion, and items that workers died of as `GaveUp`."""
        try:
            for _ in range(self.size):
                self._start_one()
            while True:
                self._hand_out(items)
                if not self._busy and not self._retry_queue and self._free:
                    return
                for reference in self._ready():
                    yield from self._handle(reference)
        except Exception:
            if self._busy:
                self.ray.wait(list(self._busy), num_returns=len(self._busy), timeout=SECONDS_TO_FINISH)
            raise
        finally:
            for worker in {*self._starting.values(), *(worker for worker, _ in self._busy.values()), *self._free}:
                self.ray.kill(worker)  # so that a cluster gets its cores back at once

    def _start_one(self) -> None:
        worker = self.start_worker()
        self._starting[worker.ready.remote()] = worker

    def _hand_out(self, items: Iterator[Any]) -> None:
        while self._free:
            if self._retry_queue:
                task = self._retry_queue.popleft()
            elif (item := next(items, _NOTHING)) is not _NOTHING:
                task = _Task(item)
            else:
                return
            worker = self._free.popleft()
            self._busy[worker.work.remote(task.item)] = (worker, task)

    def _ready(self) -> list[Any]:
        """All references that are ready, at least one."""
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

    def _handle(self, reference: Any) -> Iterator[Any]:
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
            if isinstance(result, LastResult):
                self._replace_spent(worker)
                yield result.result
                return
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
                    f"{DEATHS_AT_START} workers in a row died before they were ready: {error} "
                    "Give them more memory, or use fewer with --workers."
                ) from error
            self._start_one()
            return
        self._deaths_at_start = 0
        self._free.extend([worker] * (self.at_once + WAITING_PER_WORKER))

    def _replace_dead(self, dead: Any, error: Exception) -> Iterator[Any]:
        """Replace a worker. A death counts for the items that it was working on, not for those that only waited."""
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
                self._retry_queue.append(task)
                self.retries += 1
            else:
                yield GaveUp(task.item, task.deaths)
        self._start_one()

    def _replace_spent(self, worker: Any) -> None:
        """Replace a worker in which a rollout that passed a limit still runs; others take what it holds."""
        self._free = deque(other for other in self._free if other is not worker)
        held = [(reference, task) for reference, (other, task) in self._busy.items() if other is worker]
        for reference, task in held:
            del self._busy[reference]
            self._retry_queue.append(task)
            self.retries += 1
        self.ray.kill(worker)
        self._start_one()

    def _result(self, reference: Any) -> Any:
        errors = self.ray.exceptions
        try:
            return self.ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from error  # as without Ray
        except (errors.RayActorError, errors.OutOfMemoryError, errors.NodeDiedError) as error:
            raise WorkerGone(str(error)) from error
        except errors.RayError as error:
            raise RunError(
                f"Ray failed: {error} Finished measurements are kept; run the same command again to continue."
            ) from error


_NOTHING: Any = object()
