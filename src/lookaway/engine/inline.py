"""Runs work in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Inline:
    """One worker, in this process: for small runs and for debugging.

    >>> list(Inline().map(lambda: str.upper, ["a", "b"]))
    ['A', 'B']
    """

    def map(self, make_worker: Callable[[], Callable[[Item], Result]], items: Iterable[Item]) -> Iterator[Result]:
        """Results in the order of the items."""
        return map(make_worker(), items)
