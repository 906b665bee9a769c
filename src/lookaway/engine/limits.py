"""How long one rollout may take and how much memory, and whether it has passed that."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lookaway.core import Abstention, BoundMetric, Reason, Resources
from lookaway.engine.feature_job import with_needs

SECONDS_PER_STEP = 3600.0
"""Default for each extractor and for the metrics together: a large network may take long on one core."""
SHARE_OF_MEMORY = 0.8
"""Default share of the memory of the machine: above it, the system would soon end a process of its own choice."""
SECONDS_BETWEEN_LOOKS = 0.05
LIMIT = "limit"
"""In the detail of an abstention: the limit that was passed, so that a higher one measures the rollout again."""
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutLimits:
    """The limits of one rollout."""

    seconds: float
    memory: int | None = None
    """Bytes; `None` is a share of the memory of the machine that measures it."""

    @classmethod
    def of(cls, resources: Resources, metrics: Sequence[BoundMetric]) -> RolloutLimits:
        """The limits that the user gave, else those that follow from the metrics of the plan."""
        steps = 1 + len(with_needs(recipe for bound in metrics for recipe in bound.recipes.values()))
        return cls(seconds=resources.rollout_seconds or steps * SECONDS_PER_STEP, memory=resources.rollout_memory)

    @property
    def bytes(self) -> int:
        """The limit of memory on this machine."""
        return self.memory or int(SHARE_OF_MEMORY * machine_memory())

    def allow_more_than(self, reason: str, limit: float) -> bool:
        """Whether a rollout that passed this limit may take more now."""
        return limit < {Reason.TOO_SLOW.value: self.seconds, Reason.TOO_LARGE.value: self.bytes}[reason]

    def passed(self, seconds: float, held: int) -> Abstention | None:
        """The abstention of a rollout that has passed a limit; `None` while it is within both."""
        if seconds > self.seconds:
            return Abstention(
                Reason.TOO_SLOW,
                f"measuring it took more than {seconds:.1f} s and was stopped; the limit is {self.seconds:g} s. "
                "Look at the video, or allow more with --rollout-seconds and run the same command again.",
                detail={LIMIT: self.seconds, "seconds": round(seconds, 3)},
            )
        if held > self.bytes:
            return Abstention(
                Reason.TOO_LARGE,
                f"the process that measured it held {held // MEGABYTE} MB and was stopped; "
                f"the limit is {self.bytes // MEGABYTE} MB. "
                "Look at the video, or allow more with --rollout-memory and run the same command again.",
                detail={LIMIT: self.bytes, "bytes": held},
            )
        return None


class Stopwatch:
    """Counts the time that is spent on one rollout; read by one thread while another one works."""

    def __init__(self) -> None:
        self._state: tuple[float, float | None] = (0.0, None)  # one value, so that no reader sees half a change

    @property
    def is_running(self) -> bool:
        """Whether the rollout is being worked on."""
        return self._state[1] is not None

    @property
    def seconds(self) -> float:
        """The time so far."""
        counted, since = self._state
        return counted if since is None else counted + time.monotonic() - since

    def reset(self) -> None:
        """Count from zero."""
        self._state = (0.0, None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of a block."""
        self._state = (self._state[0], time.monotonic())
        try:
            yield
        finally:
            self._state = (self.seconds, None)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of a block inside one that is counted."""
        was_running = self.is_running
        self._state = (self.seconds, None)
        try:
            yield
        finally:
            self._state = (self._state[0], time.monotonic() if was_running else None)


def held_memory() -> int:
    """Bytes of memory that this process holds; where the system does not say, the most that it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


@cache
def machine_memory() -> int:
    """Bytes of memory of this machine, or of the container that this process runs in."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return whole
    return min(whole, int(allowed)) if allowed.isdecimal() else whole
