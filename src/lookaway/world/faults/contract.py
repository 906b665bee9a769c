"""The interface of a fault: a named edit of a state table, with a severity and a dose."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.world.clip import Clip
from lookaway.world.phases import Phases
from lookaway.world.recipe import ClipRecipe
from lookaway.world.states import StateTable

LEVELS = 5
"""Levels of a doubling scale: severities 0.2, 0.4 ... 1 give 1/16, 1/8 ... 1 of the full dose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyCase:
    """A case to inject a fault into, its phases, and the random numbers of one take."""

    clip: Clip
    """Its table holds the faults injected before this one."""
    phases: Phases
    """Phases of the fault-free clip."""
    take: int = 0

    @property
    def unseen(self) -> slice:
        """Frames from the middle of the unseen time on, when a fault begins.

        The camera is then farthest away, so the surroundings of the target are out of view as well.
        """
        return slice((self.phases.d_start + self.phases.r_start) // 2, None)

    @property
    def returned(self) -> slice:
        """Frames after the target should have reappeared."""
        return slice(self.phases.r_start, self.clip.recipe.frames)

    @property
    def target_parts(self) -> slice:
        """Indices of the target's parts."""
        return slice(0, len(self.clip.scene.target.parts))

    @property
    def identity_parts(self) -> list[int]:
        """Indices of the target's parts that carry its identity."""
        return list(self.clip.scene.identity_parts)

    def rng(self, fault: str) -> np.random.Generator:
        """A generator that is the same for every severity, so that a stronger fault is more of the same."""
        recipe = self.clip.recipe
        digest = hashlib.sha256(f"{fault}/{recipe.case}/{self.take}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))


class Fault(ABC):
    """One memory failure. It is never called with severity 0."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line about what happens."""
    dose_unit: ClassVar[str]
    begins_unseen: ClassVar[bool] = True
    """Whether everything before the target disappears stays unchanged; not so for camera faults."""
    moves: ClassVar[tuple[str, ...]] = ()
    """Metrics that must react to it."""
    spares: ClassVar[tuple[str, ...]] = ("camera_interaction",)
    """Metrics that must not react to it."""

    def declines_recipe(self, recipe: ClipRecipe) -> str | None:
        """Why it cannot be injected, where that is known before anything is rendered."""
        return None

    def declines(self, case: FaultyCase) -> str | None:
        """Why it cannot be injected into this case; `None` if it can."""
        return needs_disappearance(case)

    @abstractmethod
    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """The table with the fault injected."""

    @abstractmethod
    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Realised dose in an edited table."""


def doubling(severity: float, full: float) -> float:
    """Dose on a scale that doubles with each fifth of severity: 1/16, 1/8, 1/4, 1/2, 1; linear below the first."""
    steps = LEVELS * severity
    return full * 2.0 ** (1 - LEVELS) * (steps if steps < 1 else 2.0 ** (steps - 1))


def needs_disappearance(case: FaultyCase) -> str | None:
    """The reason to decline if the target never disappears and returns."""
    if case.phases.is_lost and case.phases.returns:
        return None
    return f"the target does not disappear and return with the camera {case.clip.path.name}"


def replaced(
    column: Floats, where: slice | NDArray[np.bool_], things: slice | int | list[int], values: Floats | float
) -> Floats:
    """A copy of a column with new values for some frames and things."""
    edited = column.copy()
    edited[where, things] = values
    return edited
