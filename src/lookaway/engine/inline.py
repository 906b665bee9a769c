"""The executor that runs in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, TypeVar

from lookaway.core import Resources, Service, ServiceClients, UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Inline:
    """One worker, in this process: for small runs and for debugging.

    >>> list(Inline().map(lambda clients: str.upper, ["a", "b"]))
    ['A', 'B']
    """

    name = "inline"
    has_services = False
    dashboard = None
    deaths = retries = 0

    def __init__(self, resources: Resources | None = None) -> None:
        if resources is not None and resources not in (Resources(), Resources(workers=1)):
            raise UserError("--workers, --replicas, --gpus-per-worker and --address need Ray. Add --executor ray.")

    @property
    def workers(self) -> int:
        """One."""
        return 1

    def map(
        self,
        make_worker: Callable[[ServiceClients], Callable[[Item], Result]],
        items: Iterable[Item],
        *,
        at_once: int = 1,
        services: Mapping[str, Service] | None = None,
    ) -> Iterator[Result]:
        """Results in the order of the items; in order of completion if the worker takes several at once."""
        if services:
            raise ValueError("a single worker shares no services; expected none.")
        worker = make_worker({})
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
