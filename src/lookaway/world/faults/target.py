"""Faults of the target: it is missing, changed, elsewhere, or duplicated."""

from __future__ import annotations

import cv2
import numpy as np

from lookaway.core import Floats
from lookaway.world.faults.contract import Fault, FaultyCase, doubling, replaced
from lookaway.world.nouns import Part, Scene, Shape
from lookaway.world.stage import COPIES
from lookaway.world.states import StateTable
from lookaway.world.textures import paint_part
from lookaway.world.turns import rotation

LIGHT_AND_CAMERA = ("rendering_lighting", "camera_interaction")
"""Metrics that a target fault leaves unchanged. Spatial ones react, since matched points include the target."""

DELTA_E = "Delta E of the target"


class Vanish(Fault):
    """The target does not return, or only transparent."""

    name = "vanish"
    summary = "the target returns with opacity 1 - s; at 1 it is gone"
    dose_unit = "opacity lost"
    spares = LIGHT_AND_CAMERA

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Opacity."""
        return table.edited(opacity=replaced(table.opacity, case.unseen, 0, 1 - severity))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Mean over the frames after the return."""
        return float(1 - table.opacity[case.returned, 0].mean())


class IdentityTexture(Fault):
    """The target's pattern changes."""

    name = "identity_texture"
    summary = "the target's pattern is cross-faded to another one by s"
    dose_unit = DELTA_E
    spares = LIGHT_AND_CAMERA

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Repaint."""
        weight = np.maximum(table.part_repaint[case.unseen, case.identity_parts], severity)
        return table.edited(part_repaint=replaced(table.part_repaint, case.unseen, case.identity_parts, weight))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Between its patterns with and without the fault."""
        return colour_change(case, table)


class IdentityColour(Fault):
    """The target's colour changes."""

    name = "identity_colour"
    summary = "the target's colour shifts towards another one by s"
    dose_unit = DELTA_E
    spares = LIGHT_AND_CAMERA

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Keep one colour channel, not the target's dominant one, and dim the others."""
        parts = [case.clip.scene.target.parts[index] for index in case.identity_parts]
        own = np.mean([np.mean(part.surface.colours, axis=0) for part in parts], axis=0)
        seen = own * table.part_tint[-1, case.identity_parts].mean(axis=0)
        kept = int(case.rng(self.name).choice(np.delete(np.arange(3), np.argmax(seen))))
        filtered = np.where(np.arange(3) == kept, 1.0, 1 - 0.8 * severity)
        tint = table.part_tint[case.unseen, case.identity_parts] * filtered
        return table.edited(part_tint=replaced(table.part_tint, case.unseen, case.identity_parts, tint))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Between its colours with and without the fault."""
        return colour_change(case, table)


class IdentityShape(Fault):
    """The target's proportions change."""

    name = "identity_shape"
    summary = "the target becomes up to 1.6 times as wide and half as high, or half as wide and 1.6 times as high"
    dose_unit = "mean log2 of the size factors"
    spares = LIGHT_AND_CAMERA

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Scale the parts and their positions; the target stays on its support."""
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
        """Relative to its correct size."""
        true = case.clip.table.part_size[case.returned, case.target_parts]
        return float(np.abs(np.log2(_factors(table.part_size[case.returned, case.target_parts], true))).mean())


class Teleport(Fault):
    """The target is somewhere else."""

    name = "teleport"
    summary = "the target is 1/8, 1/4, 1/2, 1 or 2 diameters from its true position"
    dose_unit = "diameters"
    spares = LIGHT_AND_CAMERA
    full = 2.0

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Move the target across the view, to the side with room."""
        across = free_side(case) * doubling(severity, self.full) * case.clip.scene.target.diameter
        moved = table.position[case.unseen, 0] + np.array([across, 0.0, 0.0])
        return table.edited(position=replaced(table.position, case.unseen, 0, moved))

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Distance from its true position after the return."""
        away = table.position[case.returned, 0] - case.clip.table.position[case.returned, 0]
        return float(np.linalg.norm(away, axis=1).mean() / case.clip.scene.target.diameter)


class Duplicate(Fault):
    """There is more than one target."""

    name = "duplicate"
    summary = "one to five copies stand around the target"
    dose_unit = "copies"
    spots = ((1.25, 0.0), (-1.25, 0.35), (0.6, 1.3), (2.4, 0.5), (-0.8, 1.5))
    """In diameters, across the view and away from the camera."""

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Show hidden copies beside the target, in its state; for a fractional number, the last one is transparent."""
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
        """Number of copies after the return."""
        return float(table.opacity[case.returned, -COPIES:].sum(axis=1).mean())


def colour_change(case: FaultyCase, table: StateTable) -> float:
    """Mean CIE76 difference at the end of what carries the target's identity, in full light and by surface area."""
    last, scene = case.clip.recipe.frames - 1, case.clip.scene
    changes, areas = [], []
    for index in case.identity_parts:
        part = scene.target.parts[index]
        true, found = (_lab(part, t, last, index) for t in (case.clip.table, table))
        changes.append(float(np.linalg.norm(found - true, axis=-1).mean()))
        width, depth, height = part.size
        areas.append(width * depth + depth * height + height * width)
    return float(np.average(changes, weights=areas))


def _lab(part: Part, table: StateTable, frame: int, index: int) -> Floats:
    """CIELAB of a part's texture as it is painted and tinted in one frame."""
    weight = float(table.part_repaint[frame, index])
    own, other = paint_part(part), paint_part(part, is_repainted=True) if weight else 0
    painted = (own * (1 - weight) + other * weight) / 255 * table.part_tint[frame, index]
    return np.asarray(cv2.cvtColor(painted.clip(0, 1).astype(np.float32), cv2.COLOR_RGB2LAB), np.float64)


def lowest_points(table: StateTable, scene: Scene) -> Floats:
    """[N] height of the lowest point of the target."""
    things, lowest = rotation(table.quaternion[:, 0]), []
    for index, part in enumerate(scene.target.parts):
        upwards = (things * rotation(table.part_quaternion[:, index])).as_matrix()[:, 2]
        middle = table.position[:, 0, 2] + things.apply(table.part_position[:, index])[:, 2]
        lowest.append(middle - _reach(part.shape, upwards, table.part_size[:, index] / 2))
    return np.asarray(np.min(lowest, axis=0))


def _reach(shape: Shape, upwards: Floats, half: Floats) -> Floats:
    """[N] distance of a shape's lowest point from its centre; `upwards` is the vertical in its own coordinates."""
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
    """The factor between two columns; 1 where the divisor is 0."""
    return np.divide(edited, true, out=np.ones_like(edited), where=true > 0)


def free_side(case: FaultyCase) -> float:
    """Direction along x with room in the view: back where the target came from, if it has moved inwards."""
    path = case.clip.path
    has_moved_inwards = case.clip.table.progress[:, 0].any() and path.travel > 0
    return -path.inwards if has_moved_inwards else path.inwards


TARGET_FAULTS = (Vanish(), IdentityTexture(), IdentityColour(), IdentityShape(), Teleport(), Duplicate())
