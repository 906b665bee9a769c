"""Actors: world models made of faults, so that there is a leaderboard whose true order is known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from lookaway.world.cameras import CameraPath
from lookaway.world.events import Event
from lookaway.world.recipe import PERFECT, ClipRecipe, Injection

Band = tuple[float, float]
"""Least and greatest severity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """What it gets wrong, in every clip anew, within bands of severity."""

    name: str
    summary: str
    habits: tuple[tuple[str, Band], ...] = ()

    def plays(self, recipe: ClipRecipe, path: CameraPath, take: int) -> ClipRecipe:
        """What it makes of a case; the same take is always the same."""
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
        summary="comes back a little off its way, in a little other light",
        habits=(("camera_drift", (0.1, 0.25)), ("lighting_shift", (0.06, 0.12)), ("identity_colour", (0.1, 0.3))),
    ),
    Actor(
        name="forgetful",
        summary="loses things: the target fades, some furniture has moved",
        habits=(("vanish", (0.5, 1.0)), ("layout_change", (0.45, 0.6)), ("lighting_shift", (0.22, 0.32))),
    ),
    Actor(
        name="hallucinator",
        summary="adds what was never there: copies, other patterns",
        habits=(("duplicate", (0.4, 0.8)), ("layout_change", (0.4, 0.6)), ("style_shift", (0.25, 0.4))),
    ),
    Actor(
        name="amnesiac",
        summary="starts anew whenever it looks away: events undone, another arrangement, another light",
        habits=(("state_reset", (1.0, 1.0)), ("layout_change", (0.9, 1.0)), ("lighting_shift", (0.7, 0.9))),
    ),
    Actor(name="frozen", summary="never moves the camera, so that nothing is put to the test", habits=(
        ("camera_never_moves", (1.0, 1.0)),
    )),
)  # fmt: skip

ACTORS: dict[str, Actor] = {actor.name: actor for actor in _FROM_BEST_TO_WORST}
"""In their true order, from the best to the worst."""
