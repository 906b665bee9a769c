"""Counts the requests that an oracle receives, and what it replies."""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lookaway.core import Json


@dataclass(slots=True)
class Flight:
    """A request that is being answered."""

    key: str
    """`lookaway.core.digest` of the request's JSON."""
    number: int
    """Position among all requests, from 0."""
    attempt: int
    """Position among the requests with this key, from 0."""
    has_landed: bool = False


class RequestLog:
    """Counts and times; requests themselves are not kept. Keys are `lookaway.core.digest` of a request's JSON."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.received: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        """Complete chat completions whose last byte was written, even if their content has an error."""
        self.errors_by_key: defaultdict[str, list[str]] = defaultdict(list)
        """Kinds of errors sent for each key."""
        self.rejected: Counter[int] = Counter()
        """By status: questions that cannot be answered, wrong keys, unknown addresses."""
        self.arrived: array[float] = array("d")
        """Seconds since the epoch."""
        self.in_flight = 0
        self.max_in_flight = 0

    @property
    def errors(self) -> Counter[str]:
        """How often each kind of error was sent."""
        with self._lock:
            return Counter(kind for kinds in self.errors_by_key.values() for kind in kinds)

    @contextmanager
    def flight(self, key: str) -> Iterator[Flight]:
        """Record a request, which is in flight until its reply begins or the block ends."""
        with self._lock:
            found = Flight(key, len(self.arrived), self.received[key])
            self.received[key] += 1
            self.arrived.append(time.time())
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            yield found
        finally:
            self.land(found)

    def land(self, flight: Flight) -> None:
        """End a flight; call this before the client can know that it may send its next request."""
        with self._lock:
            self.in_flight -= not flight.has_landed
            flight.has_landed = True

    def add_error(self, key: str, kind: str) -> None:
        """Record an error that is about to be sent."""
        with self._lock:
            self.errors_by_key[key].append(kind)

    @contextmanager
    def answer(self, key: str) -> Iterator[None]:
        """Count an answer while it is written, so that a client that has it finds it here; undone if writing fails."""
        with self._lock:
            self.answered[key] += 1
        try:
            yield
        except OSError:
            with self._lock:
                self.answered -= Counter((key,))
            raise

    def reject(self, status: int) -> None:
        """Record a request that was rejected."""
        with self._lock:
            self.rejected[status] += 1

    def as_json(self) -> dict[str, Json]:
        """Everything in the log."""
        errors = self.errors
        with self._lock:
            return {
                "received": dict(self.received),
                "answered": dict(self.answered),
                "errors_by_key": {key: list(kinds) for key, kinds in self.errors_by_key.items()},
                "errors": dict(errors),
                "rejected": {str(status): count for status, count in self.rejected.items()},
                "arrived": self.arrived.tolist(),
                "in_flight": self.in_flight,
                "max_in_flight": self.max_in_flight,
            }
