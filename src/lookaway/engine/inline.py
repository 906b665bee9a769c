"""The executor that runs in this process, or, where rollouts have limits, in one child process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

from lookaway.core import GaveUp, LastResult, Resources, Service, ServiceClients, UserError
from lookaway.engine.child_process import ChildWorker

Item = TypeVar("Item")
Result = TypeVar("Result")


class Inline:
    """One worker, in this process: for small runs and for debugging.

    A limit of time or memory for each rollout needs a process that can be ended, so the worker then is a child process.

    >>> list(Inline().map(lambda clients: str.upper, ["a", "b"]))
    ['A', 'B']
    """

    name = "inline"
    has_services = False
    dashboard = None

    def __init__(self, resources: Resources | None = None) -> None:
        resources = resources or Resources()
        unlimited = replace(resources, rollout_seconds=None, rollout_memory=None)
        self.can_end_workers = resources != unlimited
        self._child: ChildWorker | None = None
        if unlimited not in (Resources(), Resources(workers=1)):
            raise UserError("--workers, --replicas, --gpus-per-worker and --address need Ray. Add --executor ray.")

    @property
    def workers(self) -> int:
        """One."""
        return 1

    @property
    def deaths(self) -> int:
        """Child processes that died in the current or last `map`."""
        return self._child.deaths if self._child else 0

    @property
    def retries(self) -> int:
        """Items that were retried in the current or last `map`."""
        return self._child.retries if self._child else 0

    def map(
        self,
        make_worker: Callable[[ServiceClients], Callable[[Item], Result | LastResult[Result]]],
        items: Iterable[Item],
        *,
        at_once: int = 1,
        services: Mapping[str, Service] | None = None,
    ) -> Iterator[Result | GaveUp[Item]]:
        """Results in the order of the items; in order of completion if the worker takes several at once."""
        if services:
            raise ValueError("a single worker shares no services; expected none.")
        if self.can_end_workers:
            self._child = ChildWorker(make_worker, at_once)
            yield from self._child.results(iter(items))
            return
        worker: Callable[[Item], Any] = make_worker({})
        close: Callable[[], object] = getattr(worker, "close", lambda: None)
        try:
            if at_once == 1:
                for item in _growing(items):
                    yield worker(item)
            else:
                yield from _overlapping(worker, iter(items), at_once, close)
        finally:
            close()


def _growing(items: Iterable[Item]) -> Iterator[Item]:
    """Items, including those that appear after the source was exhausted."""
    source = iter(items)
    while (item := next(source, _NOTHING)) is not _NOTHING:
        yield item


def _overlapping(
    worker: Callable[[Any], Any], items: Iterator[Any], at_once: int, close: Callable[[], object]
) -> Iterator[Any]:
    """A thread for each item that the worker holds, most of which wait for a judge."""
    with ThreadPoolExecutor(at_once, thread_name_prefix="rollout") as pool:
        try:
            held: set[Future[Any]] = set()
            while True:
                held |= {pool.submit(worker, item) for item in islice(items, at_once - len(held))}
                if not held:
                    return
                finished, held = wait(held, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except (KeyboardInterrupt, GeneratorExit):
            close()  # the answers are no longer needed
            raise


_NOTHING: Any = object()
