"""What happens to the target: nothing, it moves, it changes in place, or both, independently."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from lookaway.core import Floats
from lookaway.world.nouns import Scene
from lookaway.world.part_motion import changed_part
from lookaway.world.physics import simulate
from lookaway.world.states import StateTable
from lookaway.world.turns import quaternion_from_degrees

Event = Literal["none", "spatial", "in_place", "both"]
EVENTS: tuple[Event, ...] = get_args(Event)
STARTS, ENDS = 0.08, 0.92
"""Fraction of the clip that a process takes."""
FACING_DEGREES, TURNING = 70.0, 0.15
"""How far one who walks turns to his way, and in which part of it."""


def add_event(
    table: StateTable, scene: Scene, event: Event, *, direction: float, fps: float, seconds: float
) -> StateTable:
    """The table with the event in it, whether or not it is seen; motion is along x in this direction."""
    if event in ("spatial", "both"):
        table = _with_motion(table, scene, direction, fps, seconds)
    if event in ("in_place", "both"):
        clock = (np.arange(len(table)) / fps / seconds - STARTS) / (ENDS - STARTS)
        table = with_process(table, scene, np.clip(clock, 0, 1))
    return table


def with_process(table: StateTable, scene: Scene, progress: Floats) -> StateTable:
    """The table with the target's process at this progress [N]."""
    columns = [table.part_position, table.part_quaternion, table.part_size, table.part_tint]
    position, turn, size, tint = (column.copy() for column in columns)
    for index, part in enumerate(scene.target.parts):
        if part.name in scene.process.changes:
            states = changed_part(part, scene.process.changes[part.name], progress)
            position[:, index], turn[:, index] = states.position, states.quaternion
            size[:, index], tint[:, index] = states.size, states.tint
    clocks = table.progress.copy()
    clocks[:, 1] = progress
    return table.edited(part_position=position, part_quaternion=turn, part_size=size, part_tint=tint, progress=clocks)


def check_process(scene: Scene) -> None:
    """Check that a process names only parts of the target."""
    unknown = set(scene.process.changes) - {part.name for part in scene.target.parts}
    if unknown:
        raise ValueError(f"{scene.family}: {scene.process.name!r} changes parts that are not there: {sorted(unknown)}")


def _with_motion(table: StateTable, scene: Scene, direction: float, fps: float, seconds: float) -> StateTable:
    position, turn = table.position.copy(), table.quaternion.copy()
    if scene.motion.kind in ("carried", "walk"):
        gone = _eased(np.arange(len(table)) / fps / seconds)
        carried = [0] + ([scene.names.index(scene.motion.carrier)] if scene.motion.carrier else [])
        position[:, carried, 0] += direction * scene.motion.travel * gone[:, None]
        if scene.motion.kind == "walk":
            turn[:, 0] = [quaternion_from_degrees((0, 0, direction * degrees)) for degrees in _facing(gone)]
    else:
        position[:, 0], turn[:, 0] = simulate(scene, direction, len(table), fps, seconds)
    way = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(position[:, 0], axis=0), axis=1))])
    clocks = table.progress.copy()
    ends = max(float(way[min(len(way) - 1, round(seconds * fps) - 1)]), 1e-9)
    clocks[:, 0] = np.clip(way / ends, 0, 1)
    return table.edited(position=position, quaternion=turn, progress=clocks)


def _facing(gone: Floats) -> Floats:
    """Degrees between the camera and the way of one who walks, after a part of it; at its ends he faces the camera."""
    return FACING_DEGREES * _smooth(gone / TURNING) * _smooth((1 - gone) / TURNING)


def _smooth(progress: Floats) -> Floats:
    x = np.clip(progress, 0, 1)
    return np.asarray(x * x * (3 - 2 * x))


def _eased(progress: Floats) -> Floats:
    x = np.clip(progress, 0, 1)
    return np.asarray(x * (1 + x * (1 - x)))
