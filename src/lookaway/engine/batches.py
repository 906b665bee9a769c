"""Puts small work together, so that handing it out costs little beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lookaway.engine.worker import Work

Batch: TypeAlias = tuple[Work, ...]
SECONDS = 0.5
"""How long a worker should be busy with what it is handed at once."""
MOST = 256
"""Rollouts in a batch; all of it is lost with a worker that dies."""
GROWTH = 4
"""How many times larger than the last a batch may be: the first ones are not like all the others."""


@dataclass(slots=True)
class Batches:
    """The work of a run in batches that grow as long as rollouts are quick."""

    work: Sequence[Work]
    most: int = MOST
    ahead: Sequence[Work] = ()
    """Part of the work that is given first, one by one, and nothing else before all of it is finished."""
    goes_on: Callable[[], bool] = lambda: True
    """Asked once, when it is finished: whether the rest is given at all."""
    _given: int = 0
    _finished: int = 0
    _size: int = 1
    _again: deque[Batch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        if self.ahead:
            first = {entry.rollout.id for entry in self.ahead}
            self.work = [*self.ahead, *(entry for entry in self.work if entry.rollout.id not in first)]

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._again:
            return self._again.popleft()
        is_ahead = self._finished < len(self.ahead)
        most = min(1, len(self.ahead) - self._given) if is_ahead else self._size
        batch = tuple(self.work[self._given : self._given + most])
        if not batch:
            raise StopIteration
        self._given += len(batch)
        return batch

    def finish(self, rollouts: int) -> None:
        """So many of them are finished, well or not."""
        before, self._finished = self._finished, self._finished + rollouts
        if before < len(self.ahead) <= self._finished and not self.goes_on():
            self.work = self.work[: self._given]

    def learn(self, rollouts: int, seconds: float) -> None:
        """So long a batch took."""
        wanted = int(SECONDS * rollouts / seconds) if seconds > 0 else self.most
        self._size = max(1, min(wanted, GROWTH * self._size, self.most))

    def divide(self, batch: Batch) -> None:
        """Give every rollout of a batch again, alone."""
        self._again.extend((work,) for work in batch)
