"""How fast a judge is asked, and when it is left alone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated

from lookaway.core import JudgeUnusable

CATCH_UP_SECONDS = 0.25
"""A loop that woke up late may make up for so much of it at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How patiently and how fast a judge is asked. None of it moves a number."""

    concurrent: Annotated[int, "questions under way at once"] = 8
    per_second: Annotated[float | None, "questions a second at most"] = None
    tries: Annotated[int, "of one question, while others are answered"] = 6
    first_wait_seconds: Annotated[float, "before the second try; doubled with every further one"] = 0.5
    longest_wait_seconds: Annotated[float, "between two tries, unless the server asks for more"] = 30.0
    trip_after: Annotated[int, "faults in a row after which the server is left alone for a while"] = 20
    pause_seconds: Annotated[float, "for which it is then left alone"] = 30.0
    pauses: Annotated[int, "in a row after which the run ends"] = 5

    def __post_init__(self) -> None:
        if self.concurrent < 1 or self.tries < 1 or (self.per_second is not None and not self.per_second > 0):
            raise ValueError(f"concurrent, tries and per_second are positive, found {self}.")

    def share(self, of: int) -> Manners:
        """The part of one of several workers."""
        per_second = None if self.per_second is None else self.per_second / of
        return replace(self, concurrent=max(1, self.concurrent // of), per_second=per_second)


class Pacer:
    """Lets questions go at an even rate."""

    def __init__(self, per_second: float | None) -> None:
        self._interval = None if per_second is None else 1.0 / per_second
        self._next: float | None = None

    async def wait(self) -> None:
        """Until it is the turn of one more question."""
        if self._interval is None:
            return
        now = asyncio.get_running_loop().time()
        turn = now if self._next is None else max(self._next, now - CATCH_UP_SECONDS)
        self._next = turn + self._interval
        if turn > now:
            await asyncio.sleep(turn - now)


class Breaker:
    """Leaves a server alone that answers nobody, and gives up on it after some pauses."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners
        self._faults = self._pauses = 0
        self._paused_at = self._paused_until = 0.0

    async def wait(self) -> None:
        """Until the pause is over, if there is one."""
        loop = asyncio.get_running_loop()
        while (left := self._paused_until - loop.time()) > 0:
            await asyncio.sleep(left)

    def succeeded(self) -> None:
        """Somebody was answered."""
        self._faults = self._pauses = 0

    def failed(self, asked_at: float, fault: Exception) -> bool:
        """Somebody who asked at this time was not; returns whether the server is at fault rather than the question."""
        now = asyncio.get_running_loop().time()
        if asked_at < self._paused_at:
            return True
        self._faults += 1
        if self._faults < self._manners.trip_after:
            return False
        if self._pauses >= self._manners.pauses:
            raise JudgeUnusable(
                f"The judge's server answers nobody, after {self._pauses} pauses of {self._manners.pause_seconds:g} s: "
                f"{fault} All replies are kept; when the server is back, the same command goes on from there."
            )
        self._pauses += 1
        self._paused_at, self._paused_until = now, now + self._manners.pause_seconds
        return True
