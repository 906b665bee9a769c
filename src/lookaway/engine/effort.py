"""What work took: seconds, frames and bytes of every stage."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Self

from lookaway.core import Extractor, Json, RunError

DECODING, METRICS, READING, WRITING = "decoding", "metrics", "reading", "writing"
"""Stages that every run has; the others are named after extractors. Reading is of features that were kept."""
SENDING, WAITING, ASKING = "sending", "waiting", "asking"
"""What a worker does about networks elsewhere and about a judge: gives frames, waits for the one, for the other."""
IDLE = frozenset({WAITING, ASKING})
"""Stages that are no work."""
BESIDE_OTHERS = frozenset({READING, WRITING, *IDLE})
"""Stages of one thread, in which another rollout of the same worker may have its networks."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """One stage, over any number of rollouts. What it counts is of the rollouts that it was really done for."""

    seconds: float = 0.0
    """As the clock on the wall has it."""
    cpu_seconds: float = 0.0
    """Of the processor, which others that use the machine disturb least."""
    rollouts: int = 0
    frames: int = 0
    pixels: int = 0
    """Of all frames together, at the size of the video."""
    stored_bytes: int = 0
    kept: int = 0
    """Rollouts for which nothing had to be done, since the result was kept from before."""
    loading_seconds: float = 0.0
    """Of networks, apart from `seconds`."""

    @contextmanager
    def timed(self, *, of_thread: bool = False) -> Iterator[Self]:
        """Add the seconds of what is done meanwhile; by default those of the processor in all threads."""
        cpu_clock = time.thread_time if of_thread else time.process_time
        started, cpu_started = time.perf_counter(), cpu_clock()
        try:
            yield self
        finally:
            self.seconds += time.perf_counter() - started
            self.cpu_seconds += cpu_clock() - cpu_started

    def add(self, other: Stage) -> None:
        """Take the other one in."""
        for entry in fields(Stage):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


@dataclass(slots=True)
class Effort:
    """All stages of a rollout, a batch or a run."""

    stages: dict[str, Stage] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """Features that were found instead of perceived."""
        return sum(stage.kept for stage in self.stages.values())

    def of(self, name: str) -> Stage:
        """The stage of this name."""
        return self.stages.setdefault(name, Stage())

    def add(self, other: Effort) -> None:
        """Take the other one in."""
        for name, stage in other.stages.items():
            self.of(name).add(stage)

    def timed(self, name: str) -> AbstractContextManager[Stage]:
        """Add the seconds of what is done meanwhile to a stage."""
        return self.of(name).timed(of_thread=name in BESIDE_OTHERS)

    def is_mostly_asking(self, seconds: float) -> bool:
        """Whether more than half of so many seconds of workers went by for want of answers, and less at work."""
        asked = sum(stage.seconds for name, stage in self.stages.items() if name == ASKING)
        worked = sum(stage.seconds + stage.loading_seconds for name, stage in self.stages.items() if name not in IDLE)
        return asked > seconds / 2 > worked

    def to_json(self) -> Json:
        """As it is kept."""
        return {name: asdict(stage) for name, stage in self.stages.items()}

    @classmethod
    def from_json(cls, value: Json) -> Effort:
        """As it was kept."""
        if not isinstance(value, dict):
            raise RunError(f"expected stages, found {value!r:.80}")
        return cls({name: _stage(name, stage) for name, stage in value.items()})


def stage_of(recipe: Extractor) -> str:
    """The stage of an extractor; of a network also where it runs and how precisely, which its cost depends on."""
    compute = getattr(recipe, "compute", None)
    device: str = compute.device if compute else getattr(recipe, "device", "")
    where = (device.split(":")[0], compute.precision if compute else "")
    return " ".join((recipe.name, *filter(None, where)))


def is_on_gpu(stage: str) -> bool:
    """Whether it is that of a network on a GPU."""
    return "cuda" in stage.split(" ")[1:]


def amount_of(value: Json, where: str) -> float:
    """A number that something was measured to be: finite, and not below zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise RunError(f"{where}: expected a number, zero or more, found {value!r:.80}")
    return value


def _stage(name: str, value: Json) -> Stage:
    known = {entry.name for entry in fields(Stage)}
    if not isinstance(value, dict) or not value.keys() <= known:
        raise RunError(f"stage {name!r:.80}: expected {', '.join(sorted(known))}, found {value!r:.80}")
    return Stage(**{entry: amount_of(number, f"stage {name!r:.80}: {entry}") for entry, number in value.items()})  # type: ignore[arg-type]
