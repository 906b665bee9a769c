"""From outcomes to estimates: what a table is made of, before anything is rounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core.features import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean, its 95 % interval, and what it rests on."""

    mean: float
    low: float | None
    high: float | None
    scored: int
    scenes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """All outcomes of one model, metric and subset: columns, not objects, for there may be millions."""

    model: str
    metric: str
    subset: str
    values: Floats
    rollouts: tuple[str, ...]
    """Rollout of each value."""
    scenes: tuple[str, ...]
    """Scene of each value."""
    raw_values: Floats
    """Native values, of those outcomes that have one."""
    has_raw: NDArray[np.bool_]
    """Whether each value has a native one."""
    asked: int
    failures: int
    reasons: Mapping[str, int]
    """How many abstained, by typed reason."""
    is_gate: bool = False
    """Whether values say if a rollout was put to the test (1) or not (0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What a gate makes of a cell."""

    coverage: Estimate | None
    """Share of rollouts that were put to the test, of those that could be judged. `None` where none could: the judge
    failed or refused, and which scores count is not known."""
    combined: Estimate | None
    """Harmonic mean of coverage and score: neither avoiding the test nor failing it pays. `None` where nothing of what
    was put to the test has a score, or nothing could be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number of a table with its support; `estimate` is None where nothing could be scored."""

    model: str
    metric: str
    subset: str
    estimate: Estimate | None
    raw_mean: float | None
    asked: int
    failures: int
    reasons: Mapping[str, int]
    gated: Gated | None = None
    """Where a gate decided which rollouts count; the estimate is then over those that were put to the test."""

    @property
    def scored(self) -> int:
        """How many of the asked rollouts have a score."""
        return self.estimate.scored if self.estimate else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Estimates of one run."""

    suite: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
