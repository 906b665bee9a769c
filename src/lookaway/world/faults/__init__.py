"""Faults: one memory failure each, at a graded severity."""

from __future__ import annotations

from lookaway.core import UnknownName
from lookaway.world.faults.camera import CAMERA_FAULTS
from lookaway.world.faults.contract import Fault, FaultyCase
from lookaway.world.faults.event import EVENT_FAULTS
from lookaway.world.faults.place import PLACE_FAULTS
from lookaway.world.faults.target import TARGET_FAULTS

FAULTS: dict[str, Fault] = {
    fault.name: fault for fault in (*EVENT_FAULTS, *TARGET_FAULTS, *PLACE_FAULTS, *CAMERA_FAULTS)
}
"""In the order of injection: event, target, surroundings, camera."""


def find_fault(name: str) -> Fault:
    """The fault of this name."""
    if name not in FAULTS:
        raise UnknownName("fault", name, FAULTS)
    return FAULTS[name]


__all__ = ["FAULTS", "Fault", "FaultyCase", "find_fault"]
