"""Renders clips: finds a scene that satisfies the rules, injects faults, renders the frames not yet cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, UserError
from lookaway.world.clip import Clip, build_clip
from lookaway.world.drawing import Drawer, DrawnFrame, Quality, intrinsics
from lookaway.world.faults import FAULTS, Fault, FaultyCase, find_fault
from lookaway.world.phases import Phases, find_phases, is_cut
from lookaway.world.recipe import ClipRecipe
from lookaway.world.states import StateTable

MIN_AREA = 0.01
"""Fraction of the frame that the target covers when wholly visible."""
MIN_UNSEEN = 0.25
"""Fraction of the frames."""
MIN_UNSEEN_PROGRESS = 0.15
"""Progress of each motion or process."""


def broken_rule(clip: Clip, masks: Sequence[NDArray[np.bool_]]) -> str:
    """The first rule that the fault-free clip breaks, in words; empty if none."""
    areas = np.array([float(mask.mean()) for mask in masks])
    for name, frame in (("first", 0), ("last", len(areas) - 1)):
        if areas[frame] < MIN_AREA:
            return f"the target fills {areas[frame]:.1%} of the {name} frame, expected at least {MIN_AREA:.0%}"
        if is_cut(masks[frame]):
            return f"the edge of the {name} frame cuts off the target"
    if not clip.path.looks_away:
        return ""
    unseen = np.flatnonzero(areas == 0)
    if len(unseen) < MIN_UNSEEN * len(areas):
        return f"the target is out of sight in {len(unseen)} of {len(areas)} frames, expected at least {MIN_UNSEEN:.0%}"
    progress = clip.table.progress
    for clock, name in enumerate(("motion", "process")):
        gone = float(progress[unseen[-1], clock] - progress[unseen[0], clock])
        if progress[:, clock].any() and gone < MIN_UNSEEN_PROGRESS:
            return f"{gone:.0%} of the {name} happens unseen, expected at least {MIN_UNSEEN_PROGRESS:.0%}"
    return ""


ATTEMPTS = 12
"""Maximum number of scenes drawn from one seed until one satisfies the rules."""


class CannotShoot(UserError):
    """No clip can be rendered from this recipe; others may work."""


class CannotInject(CannotShoot):
    """A fault that does not apply to a case, such as undoing an event where nothing happens."""

    def __init__(self, recipe: ClipRecipe, fault: Fault, reason: str) -> None:
        super().__init__(f"{recipe.case}: {fault.name} cannot be injected: {reason}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A rendered clip with its ground truth."""

    recipe: ClipRecipe
    clip: Clip
    table: StateTable
    """One row per frame."""
    views: tuple[DrawnFrame, ...]
    phases: Phases
    doses: tuple[float, ...]
    """Realised dose of each injection of the recipe."""

    @property
    def intrinsics(self) -> Floats:
        """[3, 3]"""
        return intrinsics(self.recipe.width, self.recipe.height)


class Studio:
    """Renders clips, and caches the frames of the last case: faulty clips share most of them.

    Create and use it in one thread.
    """

    def __init__(self) -> None:
        self._drawer: Drawer | None = None
        self._clean: Shot | None = None
        self._views: dict[str, DrawnFrame] = {}

    def shoot(self, recipe: ClipRecipe) -> Shot:
        """The clip of a recipe."""
        for injection in recipe.injections:
            fault = find_fault(injection.fault)
            if refusal := fault.declines_recipe(recipe):
                raise CannotInject(recipe, fault, refusal)
        clean = self._clean_shot(recipe.clean)
        if not recipe.injections:
            return replace(clean, recipe=recipe)  # a model without faults, or another take, keeps its own name
        table, doses = injected(recipe, clean)
        return self._shot(recipe, clean.clip, table, doses)

    def close(self) -> None:
        """Free graphics resources."""
        if self._drawer:
            self._drawer.close()
        self._drawer, self._clean = None, None

    def _clean_shot(self, recipe: ClipRecipe) -> Shot:
        if self._clean and self._clean.recipe == recipe:
            return self._clean
        broken = ""
        self.close()
        for attempt in range(ATTEMPTS):
            clip = build_clip(recipe, attempt)
            with Drawer(clip.scene, recipe.width, recipe.height, Quality(is_painted=False)) as sketch:
                masks = [sketch.instances(row) == 1 for row in _shown(recipe, clip.table).rows()]
            broken = broken_rule(clip, masks)
            if not broken:
                self._drawer, self._views = Drawer(clip.scene, recipe.width, recipe.height), {}
                self._clean = self._shot(recipe, clip, clip.table, ())
                return self._clean
        raise CannotShoot(
            f"{recipe.case}: none of {ATTEMPTS} drawn scenes is a memory test: {broken}. Choose another seed, camera, "
            "wait or length."
        )

    def _shot(self, recipe: ClipRecipe, clip: Clip, table: StateTable, doses: tuple[float, ...]) -> Shot:
        shown = _shown(recipe, table)
        views = tuple(self._view(row) for row in shown.rows())
        camera = intrinsics(recipe.width, recipe.height)
        phases = find_phases([view.instances == 1 for view in views], shown, clip.scene, camera)
        return Shot(recipe=recipe, clip=clip, table=shown, views=views, phases=phases, doses=doses)

    def _view(self, row: StateTable) -> DrawnFrame:
        key = row.drawn_key()
        known = self._views.get(key)
        if known is not None:
            return known
        if self._drawer is None:
            raise RuntimeError("no scene is loaded")
        view = self._drawer.draw(row)
        if self._clean is None:  # only the frames of the clean clip come again
            self._views[key] = view
        return view


def injected(recipe: ClipRecipe, clean: Shot) -> tuple[StateTable, tuple[float, ...]]:
    """The table with all faults injected in the order of `FAULTS`, and their doses in the order of the recipe."""
    order = list(FAULTS)
    table, doses = clean.clip.table, [0.0] * len(recipe.injections)
    for number, injection in sorted(
        enumerate(recipe.injections), key=lambda pair: order.index(find_fault(pair[1].fault).name)
    ):
        fault = FAULTS[injection.fault]
        case = FaultyCase(clip=clean.clip, phases=clean.phases, take=recipe.take)
        if refusal := fault.declines(case):
            raise CannotInject(recipe, fault, refusal)
        if injection.severity > 0:
            case = replace(case, clip=replace(clean.clip, table=table))
            table = fault.edit(case, table, injection.severity)
            doses[number] = fault.dose(case, table)
    return table, tuple(doses)


def _shown(recipe: ClipRecipe, table: StateTable) -> StateTable:
    return table.take(np.arange(recipe.frames))
