"""Metrics and an extractor that take too long, take too much memory, or die, on the rollouts of one case."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from lookaway.core import (
    BoundMetric,
    Feature,
    Features,
    FramelessExtractor,
    MetricBase,
    Outcome,
    Rollout,
    Score,
    Timeline,
)

CHUNK_BYTES, MAX_BYTES = 20_000_000, 3_000_000_000
"""Memory is taken in chunks, and by no means without end: a test must not take the machine with it."""
KEPT: list[np.ndarray] = []


def misbehave(how: str, rollout: Rollout, marks: str) -> None:
    """What is wrong with a rollout of the case `case1`; leaves a mark for each time that it is tried."""
    if rollout.case.id != "case1" or not how:
        return
    (Path(marks) / f"{len(os.listdir(marks))}").touch()
    if how == "sleep":
        threading.Event().wait()
    if how == "grow":
        while sum(map(len, KEPT)) < MAX_BYTES:
            KEPT.append(np.ones(CHUNK_BYTES, np.uint8))
        raise AssertionError("nobody ended it")
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class HungryExtractor(FramelessExtractor):
    """One number, unless it misbehaves."""

    name: ClassVar[str] = "hungry_feature"
    version: ClassVar[int] = 1
    how: str = ""
    marks: str = ""

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        misbehave(self.how, rollout, self.marks)
        return Feature({"one": np.ones(1)})


@dataclass(frozen=True)
class Hungry(MetricBase):
    """One, unless it misbehaves."""

    name: ClassVar[str] = "hungry"
    how: str = ""
    marks: str = ""

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        misbehave(self.how, rollout, self.marks)
        return Score(1.0)


@dataclass(frozen=True)
class Modest(MetricBase):
    """One half, of every rollout."""

    name: ClassVar[str] = "modest"

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        return Score(0.5)


@dataclass(frozen=True)
class Fed(MetricBase):
    """What the extractor finds."""

    name: ClassVar[str] = "fed"
    needs: ClassVar[tuple[str, ...]] = ("hungry_feature",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        return Score(float(features["hungry_feature"]["one"][0]))


def hungry_metric(how: str, marks: Path) -> tuple[BoundMetric, ...]:
    """A protocol of a modest metric and one that misbehaves."""
    return tuple(BoundMetric(name=each.name, metric=each) for each in (Modest(), Hungry(how=how, marks=str(marks))))


def hungry_extractor(how: str, marks: Path) -> tuple[BoundMetric, ...]:
    """A protocol of a metric whose extractor misbehaves."""
    recipes = {"hungry_feature": HungryExtractor(how=how, marks=str(marks))}
    return (BoundMetric(name="fed", metric=Fed(), recipes=recipes),)
