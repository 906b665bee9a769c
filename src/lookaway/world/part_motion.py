"""How parts move and change: by the process of their thing, and by themselves."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats
from lookaway.world.nouns import Change, IdleMotion, Part, Scene, Vector
from lookaway.world.states import StateTable
from lookaway.world.turns import quaternion, quaternion_from_degrees, rotation

FLICKER_HERTZ = (1.3, 3.1, 5.3)
"""Frequencies that have no short period in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStates:
    """N states of one part, as in a state table."""

    position: Floats
    quaternion: Floats
    size: Floats
    tint: Floats


def changed_part(part: Part, change: Change, progress: Floats) -> PartStates:
    """A part at this progress [N] of a change."""
    turns, position = _turned(np.array(part.position), change.turn, change.pivot, progress)
    return PartStates(
        position=position + progress[:, None] * np.array(change.move),
        quaternion=quaternion(turns * rotation(quaternion_from_degrees(part.turn))),
        size=np.array(part.size) * (1 + progress[:, None] * (np.array(change.grow) - 1)),
        tint=1 + progress[:, None] * (np.array(change.tint) - 1),
    )


def with_idle_motion(table: StateTable, scene: Scene) -> StateTable:
    """The table with everything that moves by itself at its times, on top of the process at its progress."""
    if not scene.idle:
        return table
    names = ("part_position", "part_quaternion", "part_size", "part_tint")
    columns = {name: getattr(table, name).copy() for name in names}
    of_part: dict[tuple[str, str], list[IdleMotion]] = defaultdict(list)
    for motion in scene.idle:
        of_part[motion.thing, motion.part].append(motion)
    for index, (owner, part) in enumerate(zip(scene.owners, scene.parts, strict=True)):
        motions = of_part.get((scene.things[owner].name, part.name), [])
        if motions:
            change = scene.process.changes.get(part.name, Change()) if owner == 0 else Change()
            states = changed_part(part, change, table.progress[:, 1])
            for motion in motions:
                states = _moved(states, motion, _wave(motion, table))
            values = (states.position, states.quaternion, states.size, states.tint)
            for name, value in zip(names, values, strict=True):
                columns[name][:, index] = value
    return table.edited(**columns)


def with_flicker(table: StateTable, scene: Scene) -> StateTable:
    """The table with the flicker of the scene's light."""
    if not scene.flicker_stops:
        return table
    waves = [
        np.sin(2 * np.pi * (hertz * table.time + number * scene.flicker_phase))
        for number, hertz in enumerate(FLICKER_HERTZ, start=1)
    ]
    stops = scene.flicker_stops * np.mean(waves, axis=0)
    return table.edited(light=table.light * 2.0 ** stops[:, None])


def check_idle_motion(scene: Scene) -> None:
    """Check that idle motion names only parts that are there."""
    known = {(thing.name, part.name) for thing in scene.things for part in thing.parts}
    unknown = {(motion.thing, motion.part) for motion in scene.idle} - known
    unknown |= {(scene.target.name, name) for name in scene.identity} - known
    if unknown:
        raise ValueError(f"{scene.family}: parts that are not there move or carry identity: {sorted(unknown)}")


def _wave(motion: IdleMotion, table: StateTable) -> Floats:
    clock = table.progress[:, 0] if motion.is_gait else table.time
    angle = 2 * np.pi * (clock / motion.period + motion.phase)
    return np.asarray(np.sin(angle) if motion.wave == "swing" else (1 - np.cos(angle)) / 2)


def _moved(states: PartStates, motion: IdleMotion, wave: Floats) -> PartStates:
    turns, position = _turned(states.position, motion.turn, motion.pivot, wave)
    return PartStates(
        position=position + wave[:, None] * np.array(motion.move),
        quaternion=quaternion(turns * rotation(states.quaternion)),
        size=states.size * (1 + wave[:, None] * (np.array(motion.grow) - 1)),
        tint=states.tint * (1 + wave[:, None] * (np.array(motion.tint) - 1)),
    )


def _turned(position: Floats, turn: Vector, pivot: Vector, weight: Floats) -> tuple[Rotation, Floats]:
    """The rotations by this weight [N] of a turn around a pivot, and positions after them."""
    turns = Rotation.from_rotvec(weight[:, None] * rotation(quaternion_from_degrees(turn)).as_rotvec())
    middle = np.array(pivot)
    return turns, np.asarray(middle + turns.apply(position - middle))
