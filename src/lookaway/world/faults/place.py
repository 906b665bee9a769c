"""Faults of the surroundings: layout, light and style change."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats
from lookaway.world.drawing import intrinsics
from lookaway.world.faults.contract import Fault, FaultyCase, needs_disappearance
from lookaway.world.states import StateTable
from lookaway.world.turns import project, quaternion, quaternion_from_degrees, rotation


class LayoutChange(Fault):
    """Things in the background have moved."""

    name = "layout_change"
    summary = "a fraction s of the things in the background moves by one to two of their diameters"
    dose_unit = "fraction of the movable things in view"
    moves = ("spatial_epipolar", "spatial_reprojection")
    spares = ("rendering_lighting", "camera_interaction")
    farthest = 0.8
    """Metres."""

    def declines(self, case: FaultyCase) -> str | None:
        """It needs a returning view with something movable in it."""
        if refusal := needs_disappearance(case):
            return refusal
        return None if _movable_in_view(case) else "nothing movable is in view at the end"

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Each thing has one new position; a stronger fault moves more things, the last one only part of the way."""
        rng, frames = case.rng(self.name), case.unseen
        position, turned = table.position.copy(), table.quaternion.copy()
        order = rng.permutation(_movable_in_view(case))
        shares = np.clip(severity * len(order) - np.arange(len(order)), 0, 1)
        for thing, share in zip(order, shares, strict=True):
            way, spin = self._moved(case, int(thing), rng)
            position[frames, thing] += share * way
            spun = rotation(quaternion_from_degrees((0, 0, share * spin))) * rotation(table.quaternion[frames, thing])
            turned[frames, thing] = quaternion(spun) if share * spin else table.quaternion[frames, thing]
        return table.edited(position=position, quaternion=turned)

    def _moved(self, case: FaultyCase, index: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Offset in metres and degrees: along the wall for what hangs there, and never into the target."""
        thing, target = case.clip.scene.things[index], case.clip.scene.target
        far, side, aslant, spin = rng.uniform(1, 2), rng.choice([-1, 1]), rng.uniform(-30, 30), rng.uniform(25, 80)
        hangs = thing.parts[0].shape == "panel"
        along = rotation(quaternion_from_degrees(thing.parts[0].turn if hangs else (0, 0, aslant)))
        way = along.apply([side * min(far * thing.diameter, self.farthest), 0.0, 0.0])
        last, reach = case.clip.table.position[-1], (thing.diameter + target.diameter) / 2
        is_clear = np.linalg.norm((last[index] + way - last[0])[:2]) > reach
        return (way if is_clear else -way), 0.0 if hangs else float(side * spin)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Fraction of movable things that moved; one that moved part of the way counts as that part."""
        whole = self.edit(case, case.clip.table, 1.0)
        movable = _movable_in_view(case)
        done, full = (
            np.linalg.norm((t.position[-1] - case.clip.table.position[-1])[movable], axis=1) for t in (table, whole)
        )
        return float((done / full).mean())


def _movable_in_view(case: FaultyCase) -> list[int]:
    """Things whose centre is in the last view, ignoring occlusion."""
    recipe, scene = case.clip.recipe, case.clip.scene
    movable = [index for index, thing in enumerate(scene.things) if thing.is_movable]
    row = case.clip.table.take(np.array([recipe.frames - 1]))
    boxes = np.array([scene.things[index].box for index in movable]).reshape(-1, 2, 3)
    middles = row.position[0, movable] + rotation(row.quaternion[0, movable]).apply(boxes.mean(axis=1))
    pixels, depth = project(middles, row.camera[0], intrinsics(recipe.width, recipe.height))
    is_inside = (depth > 0) & (pixels >= 0).all(axis=1) & (pixels < (recipe.width, recipe.height)).all(axis=1)
    return [index for index, flag in zip(movable, is_inside, strict=True) if flag]


class LightingShift(Fault):
    """The light changes."""

    name = "lighting_shift"
    summary = "the light becomes dimmer and warmer, or dimmer and colder, down to a third"
    dose_unit = "stops"
    moves = ("rendering_lighting",)

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Scale the light in perceptually equal steps, gradually while the target is unseen."""
        warm = np.array([0.75, 0.5, 0.32])
        factors = (warm if case.rng(self.name).random() < 0.5 else warm[::-1]) ** severity
        start, end = case.phases.d_start, case.phases.r_start
        weight = np.clip((np.arange(len(table)) - start) / (end - start), 0, 1)
        return table.edited(light=table.light * factors ** weight[:, None])

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Mean over channels and frames after the return."""
        factors = table.light[case.returned] / case.clip.table.light[case.returned]
        return float(np.abs(np.log2(factors)).mean())


class StyleShift(Fault):
    """The whole picture changes its style."""

    name = "style_shift"
    summary = "all patterns are cross-faded to another palette by s, with stronger contrast and contours"
    dose_unit = "weight of the other look"
    moves = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")

    def edit(self, case: FaultyCase, table: StateTable, severity: float) -> StateTable:
        """Repaint all parts and change the rendering style."""
        style, repaint = table.style.copy(), table.part_repaint.copy()
        style[case.unseen] = np.maximum(style[case.unseen], severity)
        repaint[case.unseen] = np.maximum(repaint[case.unseen], severity)
        return table.edited(style=style, part_repaint=repaint)

    def dose(self, case: FaultyCase, table: StateTable) -> float:
        """Mean after the return."""
        return float(table.style[case.returned].mean())


PLACE_FAULTS = (LayoutChange(), LightingShift(), StyleShift())
