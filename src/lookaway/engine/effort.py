"""What work took: seconds, frames and bytes of every stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields

from lookaway.core import Extractor, Json, RunError

DECODING, METRICS, WRITING, WAITING = "decoding", "metrics", "writing", "waiting"
"""Stages that every run has; the others are named after extractors."""


@dataclass(slots=True, kw_only=True)
class Stage:
    """One stage, over any number of rollouts. What it counts is of the rollouts that it was really done for."""

    seconds: float = 0.0
    rollouts: int = 0
    frames: int = 0
    pixels: int = 0
    """Of all frames together, at the size of the video."""
    stored_bytes: int = 0
    kept: int = 0
    """Rollouts for which nothing had to be done, since the result was kept from before."""
    loading_seconds: float = 0.0
    """Of networks, apart from `seconds`."""

    def add(self, other: Stage) -> None:
        """Take the other one in."""
        for entry in fields(Stage):
            setattr(self, entry.name, getattr(self, entry.name) + getattr(other, entry.name))


@dataclass(slots=True)
class Effort:
    """All stages of a rollout, a batch or a run."""

    stages: dict[str, Stage] = field(default_factory=dict)

    def of(self, name: str) -> Stage:
        """The stage of this name."""
        return self.stages.setdefault(name, Stage())

    def add(self, other: Effort) -> None:
        """Take the other one in."""
        for name, stage in other.stages.items():
            self.of(name).add(stage)

    @contextmanager
    def timed(self, name: str) -> Iterator[Stage]:
        """Add the seconds of what is done meanwhile to a stage."""
        stage, started = self.of(name), time.perf_counter()
        try:
            yield stage
        finally:
            stage.seconds += time.perf_counter() - started

    def to_json(self) -> Json:
        """As it is kept."""
        return {name: asdict(stage) for name, stage in self.stages.items()}

    @classmethod
    def from_json(cls, value: Json) -> Effort:
        """As it was kept."""
        try:
            return cls({name: Stage(**stage) for name, stage in value.items()})
        except (AttributeError, TypeError) as error:
            raise RunError(f"a table of costs cannot be read ({error}). Delete the file; it is made anew.") from error


def stage_of(recipe: Extractor) -> str:
    """The stage of an extractor; of a network also where it runs and how precisely, which its cost depends on."""
    compute = getattr(recipe, "compute", None)
    where = (compute.device.split(":")[0], compute.precision) if compute else (getattr(recipe, "device", None),)
    return " ".join((recipe.name, *filter(None, where)))


def parts_of(stage: str) -> Mapping[str, str]:
    """Name, device and precision of a stage, as far as it has them."""
    return dict(zip(("name", "device", "precision"), stage.split(" "), strict=False))
