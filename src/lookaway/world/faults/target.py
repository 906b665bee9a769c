"""Faults of the target: it is gone, another one, elsewhere, or more than one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats
from lookaway.world.faults.contract import FaultyCase, doubling, needs_disappearance, replaced
from lookaway.world.nouns import Scene, Shape
from lookaway.world.stage import COPIES
from lookaway.world.states import StateTable
from lookaway.world.turns import rotation

LIGHT_AND_CAMERA = ("rendering_lighting", "camera_interaction")
"""What a fault of the target leaves alone. Points on the target count among those of the place, so that those react."""


class _TargetFault:
    """What they have in common."""

    begins_unseen = True
    moves: tuple[str, ...] = ()
    spares: tuple[str, ...] = LIGHT_AND_CAMERA

    def declines(self, case: FaultyCase) -> str | None:
        """They need a target that comes back."""
        return needs_disappearance(case)


@dataclass(frozen=True)
class Vanish(_TargetFault):
    """The target has not come back, or only as a ghost."""

    name = "vanish"
    summary = "the target comes back with opacity 1 - s; at 1 it is gone"
    dose_unit = "opacity lost"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Opacity."""
        return table.edited(opacity=replaced(table.opacity, case.unseen, 0, 1 - severity))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Mean over the frames after the return."""
        return float(1 - table.opacity[case.returned, 0].mean())


@dataclass(frozen=True)
class IdentityTexture(_TargetFault):
    """Its pattern turns into another one."""

    name = "identity_texture"
    summary = "the target's pattern is cross-faded to another one by s"
    dose_unit = "weight of the other pattern"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Repaint."""
        weight = np.maximum(table.part_repaint[case.unseen, case.target_parts], severity)
        return table.edited(part_repaint=replaced(table.part_repaint, case.unseen, case.target_parts, weight))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Mean over the target's parts after the return."""
        return float(table.part_repaint[case.returned, case.target_parts].mean())


@dataclass(frozen=True)
class IdentityColour(_TargetFault):
    """Its colour turns into another one."""

    name = "identity_colour"
    summary = "the target's colour is filtered towards another one by s"
    dose_unit = "mean part of a channel lost"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Tint: one channel is kept, the others are dimmed; never the one that the target has most of anyway."""
        parts = case.clip.scene.target.parts
        own = np.mean([np.mean(part.surface.colours, axis=0) for part in parts], axis=0)
        seen = own * table.part_tint[-1, case.target_parts].mean(axis=0)
        kept = int(case.rng(self.name).choice(np.delete(np.arange(3), np.argmax(seen))))
        filtered = np.where(np.arange(3) == kept, 1.0, 1 - 0.8 * severity)
        tint = table.part_tint[case.unseen, case.target_parts] * filtered
        return table.edited(part_tint=replaced(table.part_tint, case.unseen, case.target_parts, tint))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Against the colour that it should have then."""
        true = case.clip.table.part_tint[case.returned, case.target_parts]
        return float(np.abs(1 - _factors(table.part_tint[case.returned, case.target_parts], true)).mean())


@dataclass(frozen=True)
class IdentityShape(_TargetFault):
    """Its proportions turn into others."""

    name = "identity_shape"
    summary = "the target becomes up to 1.6 times as wide and half as high, or half as wide and 1.6 times as high"
    dose_unit = "mean log2 of the size factors"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Size, and places of the parts with it; the target stays on what it stands on."""
        wide, high = (1.6, 0.5) if case.rng(self.name).random() < 0.5 else (0.5, 1.6)
        factors = np.array([wide, wide, high]) ** severity
        parts, frames = case.target_parts, case.unseen
        edited = table.edited(
            part_size=replaced(table.part_size, frames, parts, table.part_size[frames, parts] * factors),
            part_position=replaced(table.part_position, frames, parts, table.part_position[frames, parts] * factors),
        )
        scene = case.clip.scene
        place = table.position[frames, 0].copy()
        place[:, 2] += (lowest_points(table, scene) - lowest_points(edited, scene))[frames]
        return edited.edited(position=replaced(table.position, frames, 0, place))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Against the size that it should have then."""
        true = case.clip.table.part_size[case.returned, case.target_parts]
        return float(np.abs(np.log2(_factors(table.part_size[case.returned, case.target_parts], true))).mean())


@dataclass(frozen=True)
class Teleport(_TargetFault):
    """It is somewhere else."""

    name = "teleport"
    summary = "the target is 1/8, 1/4, 1/2, 1 or 2 diameters from its true place"
    dose_unit = "diameters"
    full = 2.0

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Place: across the view, where there is room."""
        across = free_side(case) * doubling(severity, self.full) * case.clip.scene.target.diameter
        moved = table.position[case.unseen, 0] + np.array([across, 0.0, 0.0])
        return table.edited(position=replaced(table.position, case.unseen, 0, moved))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Distance from its true place after the return."""
        away = table.position[case.returned, 0] - case.clip.table.position[case.returned, 0]
        return float(np.linalg.norm(away, axis=1).mean() / case.clip.scene.target.diameter)


@dataclass(frozen=True)
class Duplicate(_TargetFault):
    """It is there more than once."""

    name = "duplicate"
    summary = "one to five copies stand around the target"
    dose_unit = "copies"
    spares = ("camera_interaction",)
    spots = ((1.25, 0.0), (-1.25, 0.35), (0.6, 1.3), (2.4, 0.5), (-0.8, 1.5))
    """Diameters across and away from the camera."""

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Copies wait in the scene; they are put beside the target, in its state, and shown.

        Between two whole numbers of copies, the last one is a ghost.
        """
        scene = case.clip.scene
        opacity, position, turn = table.opacity.copy(), table.position.copy(), table.quaternion.copy()
        columns = {
            name: getattr(table, name).copy()
            for name in ("part_position", "part_quaternion", "part_size", "part_tint", "part_repaint")
        }
        frames, parts = case.unseen, len(scene.target.parts)
        shares = np.clip(severity * COPIES - np.arange(COPIES), 0, 1).round(9)
        for number in range(np.count_nonzero(shares)):
            thing = len(scene.things) - COPIES + number
            across, away = self.spots[number]
            offset = np.array([across * free_side(case), away, 0.0]) * scene.target.diameter
            opacity[frames, thing] = shares[number]
            position[frames, thing] = table.position[frames, 0] + offset
            turn[frames, thing] = table.quaternion[frames, 0]
            first = scene.owners.index(thing)
            for name, column in columns.items():
                column[frames, first : first + parts] = getattr(table, name)[frames, :parts]
        return table.edited(opacity=opacity, position=position, quaternion=turn, **columns)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """How many there are after the return."""
        return float(table.opacity[case.returned, -COPIES:].sum(axis=1).mean())


def lowest_points(table: StateTable, scene: Scene) -> Floats:
    """[N] height of the lowest point of the target."""
    things, lowest = rotation(table.quaternion[:, 0]), []
    for index, part in enumerate(scene.target.parts):
        upwards = (things * rotation(table.part_quaternion[:, index])).as_matrix()[:, 2]
        middle = table.position[:, 0, 2] + things.apply(table.part_position[:, index])[:, 2]
        lowest.append(middle - _reach(part.shape, upwards, table.part_size[:, index] / 2))
    return np.asarray(np.min(lowest, axis=0))


def _reach(shape: Shape, upwards: Floats, half: Floats) -> Floats:
    """[N] how far a shape goes down from its middle; `upwards` is the vertical in its own frame."""
    x, y, z = np.abs(upwards).T
    radius = half[:, 0]
    match shape:
        case "ellipsoid":
            reach = np.linalg.norm(upwards * half, axis=1)
        case "cylinder":
            reach = z * half[:, 2] + np.hypot(x, y) * radius
        case "capsule":
            reach = z * np.maximum(half[:, 2] - radius, 0) + radius
        case _:
            reach = (np.abs(upwards) * half).sum(axis=1)
    return np.asarray(reach)


def _factors(edited: Floats, true: Floats) -> Floats:
    """What was multiplied; 1 where a process has left nothing to multiply."""
    return np.divide(edited, true, out=np.ones_like(edited), where=true > 0)


def free_side(case: FaultyCase) -> float:
    """The direction along x in which there is room in view: back where it came from, once it has moved inwards."""
    path = case.clip.path
    has_moved_inwards = case.clip.table.progress[:, 0].any() and path.travel > 0
    return -path.inwards if has_moved_inwards else path.inwards


TARGET_FAULTS = (Vanish(), IdentityTexture(), IdentityColour(), IdentityShape(), Teleport(), Duplicate())
