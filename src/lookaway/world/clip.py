"""Builds a clip: scene, camera and event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import UnknownName
from lookaway.world.cameras import CameraPath, Viewpoint, camera_path
from lookaway.world.events import add_event, check_process
from lookaway.world.families import FAMILIES
from lookaway.world.nouns import Scene
from lookaway.world.part_motion import check_idle_motion, with_flicker, with_idle_motion
from lookaway.world.recipe import ClipRecipe
from lookaway.world.states import StateTable, still_table

TAIL_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A case before rendering: its scene, its requested camera path and its event."""

    recipe: ClipRecipe
    scene: Scene
    path: CameraPath
    table: StateTable
    """States of the fault-free clip, plus a tail after the last frame for faults that skip time."""


def build_clip(recipe: ClipRecipe, attempt: int = 0) -> Clip:
    """The clip of a recipe; each attempt draws the scene again."""
    recipe = recipe.clean
    scene = build_scene(recipe.family, recipe.seed, attempt)
    path = path_of(recipe)
    if scene.motion.kind != "fall":  # a shorter push would not reach the edge
        scene = replace(scene, motion=replace(scene.motion, travel=scene.motion.travel * abs(path.travel)))
    low, high = scene.target.box
    view = Viewpoint(
        distance=scene.distance,
        eye_height=scene.eye_height,
        target_height=scene.target.position[2] + (low[2] + high[2]) / 2,
        aspect=recipe.width / recipe.height,
    )
    times = np.arange(recipe.frames + round(TAIL_SECONDS * recipe.fps)) / recipe.fps
    table = still_table(scene, path.cameras(view, times, recipe.seconds, recipe.wait), times)
    direction = path.inwards if path.travel > 0 else -path.inwards
    table = add_event(table, scene, recipe.event, direction=direction, fps=recipe.fps, seconds=recipe.seconds)
    table = with_flicker(with_idle_motion(table, scene), scene)
    return Clip(recipe=recipe, scene=scene, path=path, table=table)


def path_of(recipe: ClipRecipe) -> CameraPath:
    """The camera path of a recipe: a named one, or the recipe's own."""
    return recipe.free_path.camera_path if recipe.free_path else camera_path(recipe.camera)


def build_scene(family: str, seed: int, attempt: int = 0) -> Scene:
    """A scene of a family, drawn from its seed."""
    if family not in FAMILIES:
        raise UnknownName("family", family, FAMILIES)
    build: Callable[[np.random.Generator], Scene] = FAMILIES[family]
    scene = build(np.random.default_rng([_number(family), seed, attempt]))
    check_process(scene)
    check_idle_motion(scene)
    return scene


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
