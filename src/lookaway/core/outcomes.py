"""What measuring can yield: a score, an abstention or a failure. Never a magic number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from lookaway.core.lock import Json
from lookaway.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Score:
    """A finite measurement.

    >>> Score(0.5).value
    0.5
    >>> Score(float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: A score must be a finite number, found nan. Return an Abstention with its reason instead.
    """

    value: float
    raw: float | None = None
    """The same measurement in its native unit (pixels, a 1 to 5 rating), where the value is a mapping of it."""
    units: tuple[Unit, ...] = ()
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in (self.value, self.raw):
            if number is not None and not math.isfinite(number):
                raise ValueError(
                    f"A score must be a finite number, found {number!r}. Return an Abstention with its reason instead."
                )


@dataclass(frozen=True, slots=True)
class Abstention:
    """The measurement looked, and says why it cannot answer."""

    reason: Reason
    message: str
    units: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """The measurement crashed: a bug or a broken machine. Never averaged, always reported, retried on resume."""

    error: str
    message: str
    trace: str = field(default="", compare=False)
    """Where it crashed, for the people who mend it; kept with the run's events, not in its rows."""


Outcome: TypeAlias = Score | Abstention | Failure


@dataclass(frozen=True, slots=True)
class Unit:
    """One part of a measurement: a frame pair, a track, a segment, a phase, a probe."""

    name: str
    outcome: Score | Abstention
