"""Actors: simulated world models with known memory faults, for a leaderboard whose true order is known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from lookaway.world.cameras import CameraPath
from lookaway.world.events import Event
from lookaway.world.recipe import PERFECT, ClipRecipe, Injection

Band = tuple[float, float]
"""Minimum and maximum severity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A simulated model: its faults, each with a range of severities from which every clip draws."""

    name: str
    summary: str
    habits: tuple[tuple[str, Band], ...] = ()

    def plays(self, recipe: ClipRecipe, path: CameraPath, take: int) -> ClipRecipe:
        """The recipe of its clip for a case; equal takes give equal recipes."""
        injections = []
        for fault, (low, high) in self.habits:
            if _applies(fault, recipe.event, path):
                digest = hashlib.sha256(f"{self.name}/{fault}/{recipe.case}/{take}".encode()).digest()
                severity = np.random.default_rng(int.from_bytes(digest[:8], "big")).uniform(low, high)
                injections.append(Injection(fault=fault, severity=round(float(severity), 3)))
        return replace(recipe, model=self.name, take=take, injections=tuple(injections))


def _applies(fault: str, event: Event, path: CameraPath) -> bool:
    if fault in ("state_reset", "frozen_while_unseen"):
        return event != "none" and path.looks_away
    if fault in ("camera_never_moves", "dragged_along"):
        return path.name != "static"
    return fault in ("camera_drift", "temporal_cut") or path.looks_away


_FROM_BEST_TO_WORST = (
    Actor(name=PERFECT, summary="remembers everything"),
    Actor(
        name="drifter",
        summary="returns slightly off course, under slightly different light",
        habits=(("camera_drift", (0.1, 0.25)), ("lighting_shift", (0.06, 0.12)), ("identity_colour", (0.1, 0.3))),
    ),
    Actor(
        name="forgetful",
        summary="forgets objects: the target fades, some furniture moves",
        habits=(("vanish", (0.5, 1.0)), ("layout_change", (0.45, 0.6)), ("lighting_shift", (0.22, 0.32))),
    ),
    Actor(
        name="hallucinator",
        summary="invents things: copies of the target, different patterns",
        habits=(("duplicate", (0.4, 0.8)), ("layout_change", (0.4, 0.6)), ("style_shift", (0.25, 0.4))),
    ),
    Actor(
        name="amnesiac",
        summary="starts over after looking away: events undone, new layout, new light",
        habits=(("state_reset", (1.0, 1.0)), ("layout_change", (0.9, 1.0)), ("lighting_shift", (0.7, 0.9))),
    ),
    Actor(name="frozen", summary="never moves the camera, so memory is never tested", habits=(
        ("camera_never_moves", (1.0, 1.0)),
    )),
)  # fmt: skip

ACTORS: dict[str, Actor] = {actor.name: actor for actor in _FROM_BEST_TO_WORST}
"""In their true order, from the best to the worst."""
