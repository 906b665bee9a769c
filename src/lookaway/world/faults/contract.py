"""What a fault is: a named edit of a state table, with a dial and a dose."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats
from lookaway.world.clip import Clip
from lookaway.world.phases import Phases
from lookaway.world.states import StateTable

LEVELS = 5
"""Steps of a dial that doubles: severities 0.2, 0.4 ... 1 give 1/16, 1/8 ... 1 of the full dose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyCase:
    """A case that a fault comes into, when its target is unseen, and a source of chance for one model's take."""

    clip: Clip
    """Its table is as it is before this fault: clean, or with the faults that came earlier."""
    phases: Phases
    """Of the clean clip."""
    take: int = 0

    @property
    def unseen(self) -> slice:
        """All frames from the middle of the unseen time on: there the camera is farthest away, and a fault begins.

        What stands beside the target is then out of view too, so that little is seen to jump.
        """
        return slice((self.phases.d_start + self.phases.r_start) // 2, None)

    @property
    def returned(self) -> slice:
        """The frames in which the target should be back."""
        return slice(self.phases.r_start, self.clip.recipe.frames)

    @property
    def target_parts(self) -> slice:
        """Positions of the target's parts."""
        return slice(0, len(self.clip.scene.target.parts))

    def rng(self, fault: str) -> np.random.Generator:
        """The same for every severity, so that a stronger fault is more of the same."""
        recipe = self.clip.recipe
        digest = hashlib.sha256(f"{fault}/{recipe.case}/{self.take}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))


class Fault(Protocol):
    """One way to forget. Severity 0 is never asked: then the table is left alone."""

    @property
    def name(self) -> str:
        """`teleport`."""
        ...

    @property
    def summary(self) -> str:
        """What happens, in a line."""
        ...

    @property
    def dose_unit(self) -> str:
        """What the dose counts."""
        ...

    @property
    def begins_unseen(self) -> bool:
        """Whether all that is seen before the target disappears stays as it is; not so for faults of the camera."""
        ...

    @property
    def moves(self) -> tuple[str, ...]:
        """Measurements that must react to it."""
        ...

    @property
    def spares(self) -> tuple[str, ...]:
        """Measurements that must not react to it."""
        ...

    def declines(self, case: FaultyCase) -> str | None:
        """Why it cannot be injected into this case, if so."""
        ...

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """The table with the fault in it."""
        ...

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """How much of it there is, counted in an edited table."""
        ...


def doubling(severity: float, full: float) -> float:
    """The dose of a dial whose every fifth doubles: 1/16, 1/8, 1/4, 1/2 and all of the full dose; from 0 in a line."""
    steps = LEVELS * severity
    return full * 2.0 ** (1 - LEVELS) * (steps if steps < 1 else 2.0 ** (steps - 1))


def needs_disappearance(case: FaultyCase) -> str | None:
    """Most faults happen while the target is unseen."""
    if case.phases.is_lost and case.phases.returns:
        return None
    return f"the target never goes out of sight and comes back under the camera {case.clip.path.name}"


def needs_event(case: FaultyCase) -> str | None:
    """Some faults are about what happens while the target is unseen."""
    if case.clip.recipe.event == "none":
        return "nothing happens to the target"
    return needs_disappearance(case)


def replaced(column: Floats, where: slice | NDArray[np.bool_], things: slice | int, values: Floats | float) -> Floats:
    """A copy of a column with other values for some frames and things."""
    edited = column.copy()
    edited[where, things] = values
    return edited
