"""Pairs of frames that show one place twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from lookaway.core.cases import Rollout
from lookaway.core.features import Indices
from lookaway.core.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Pairs:
    """Frame indices [P, 2], earlier frame first, and the rule that chose them."""

    frames: Indices
    rule: str


class PairSelector(Protocol):
    """Chooses which frames to compare. A frozen dataclass: its constants are part of the lock."""

    @property
    def version(self) -> int:
        """Raised whenever the same fields would give other pairs."""
        ...

    def select(self, rollout: Rollout, frame_count: int, trajectory: Trajectory | None) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        ...
