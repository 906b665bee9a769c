"""What an oracle was asked, and what it gave."""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from lookaway.core import Json
from lookaway.io.clip_card import ClipArrays, ClipCard
from lookaway.io.world_clips import WorldClip


@dataclass(slots=True)
class Flight:
    """A request that has come in."""

    key: str
    """`lookaway.core.digest` of the request's JSON."""
    number: int
    """Of all requests, from 0."""
    attempt: int
    """Of the requests with this key, from 0."""
    has_landed: bool = False


class ClipIndex:
    """Counts and times; no request is kept. Keys are `lookaway.core.digest` of a request's JSON."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        """Whole chat completions whose last byte was written, a fault in their words or not."""
        self.given: defaultdict[str, list[str]] = defaultdict(list)
        """Kinds of faults that each key got."""
        self.rejected: Counter[int] = Counter()
        """By status: questions that cannot be answered, wrong keys, unknown addresses."""
        self.arrived: array[float] = array("d")
        """Seconds since the epoch."""
        self.in_flight = 0
        self.max_in_flight = 0

    @property
    def faults(self) -> Counter[str]:
        """How often each kind was given."""
        with self._lock:
            return Counter(kind for kinds in self.given.values() for kind in kinds)

    @contextmanager
    def flight(self, key: str) -> Iterator[Flight]:
        """Write down a request, which is in flight until its reply begins or the block ends."""
        with self._lock:
            found = Flight(key, len(self.arrived), self.asked[key])
            self.asked[key] += 1
            self.arrived.append(time.time())
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            yield found
        finally:
            self.lands(found)

    def lands(self, flight: Flight) -> None:
        """To be called before a client can know that it may send the next one."""
        with self._lock:
            self.in_flight -= not flight.has_landed
            flight.has_landed = True

    def gives(self, key: str, fault: str) -> None:
        """A fault is on its way."""
        with self._lock:
            self.given[key].append(fault)

    @contextmanager
    def answer(self, key: str) -> Iterator[None]:
        """Count an answer while it is written, so that a client that has it finds it here; not where that fails."""
        with self._lock:
            self.answered[key] += 1
        try:
            yield
        except OSError:
            with self._lock:
                self.answered -= Counter((key,))
            raise

    def rejects(self, status: int) -> None:
        """Something else than an answer was said."""
        with self._lock:
            self.rejected[status] += 1

    def as_json(self) -> dict[str, Json]:
        """All of it."""
        faults = self.faults
        with self._lock:
            return {
                "asked": dict(self.asked),
                "answered": dict(self.answered),
                "given": {key: list(kinds) for key, kinds in self.given.items()},
                "faults": dict(faults),
                "rejected": {str(status): count for status, count in self.rejected.items()},
                "arrived": self.arrived.tolist(),
                "in_flight": self.in_flight,
                "max_in_flight": self.max_in_flight,
            }


@dataclass(frozen=True, eq=False)
class KnownClip:
    """A clip, with its truth read when it is first needed."""

    clip: WorldClip
    remembered: WorldClip | None = None
    """A clip of the same case and length without faults, where the world holds one."""

    @property
    def card(self) -> ClipCard:
        """What is known of it as a whole."""
        return self.clip.card

    @cached_property
    def truth(self) -> ClipArrays:
        """What is true of every frame."""
        return self.clip.arrays()

    @cached_property
    def remembered_truth(self) -> ClipArrays | None:
        """What would be true of every frame if nothing had been forgotten."""
        return None if self.remembered is None else self.remembered.arrays()


def know_clips(clips: Sequence[WorldClip]) -> list[KnownClip]:
    """Each clip together with the one that it should have been."""
    clean = {(clip.card.case, clip.card.frames): clip for clip in reversed(clips) if not clip.card.injections}
    return [KnownClip(clip, clean.get((clip.card.case, clip.card.frames))) for clip in clips]
