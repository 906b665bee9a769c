"""A rendered set for the tests of exports, drawn once for all of them."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lookaway.io.world_clips import WorldClip, open_world
from lookaway.world.recipe import PERFECT, ClipRecipe, Injection
from lookaway.world.rendering import clip_folder
from tests.support.rendered import copy_folders

LEFT = ClipRecipe(family="playroom", event="in_place", camera="yaw_left_60", seed=1)
QUIET = replace(LEFT, event="none")
RIGHT = ClipRecipe(family="playroom", event="both", camera="yaw_right_60", seed=2)
ORBIT = ClipRecipe(family="playroom", event="none", camera="orbit_left", seed=1)
STATIC = ClipRecipe(family="playroom", event="none", camera="static", seed=1)
FRAMES = LEFT.frames


@cache
def world_root() -> Path:
    """Two memory tests, remembered and with a camera that never moves, once in two takes; and two other cases."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    still = (Injection(fault="camera_never_moves", severity=1.0),)
    cases = (LEFT, RIGHT)
    copy_folders([each for case in cases for each in (case, replace(case, model="still", injections=still))], root)
    _copy(root, replace(LEFT, model="still"), replace(LEFT, model="still", take=1))
    seen = {"visible": (0, FRAMES), "disappeared": (FRAMES, FRAMES), "reappeared": (FRAMES, FRAMES)}
    for case, action in ((ORBIT, "orbit_left_then_right"), (STATIC, "static")):
        _copy(root, LEFT, case, action=action, phases={**seen, "causes": [("visible", 0, FRAMES)]})
    return root


@cache
def world_root_with_a_quiet_case() -> Path:
    """The same, and a memory test in which nothing happens."""
    root = Path(tempfile.mkdtemp()) / "world"
    atexit.register(shutil.rmtree, root.parent, ignore_errors=True)
    shutil.copytree(world_root(), root, copy_function=os.link)
    for model in (PERFECT, "still"):
        _copy(root, replace(LEFT, model=model), replace(QUIET, model=model))
    return root


def world_clips() -> list[WorldClip]:
    return open_world(world_root())


def clip_of(case: ClipRecipe, model: str = PERFECT) -> WorldClip:
    return WorldClip.open(clip_folder(world_root(), replace(case, model=model)))


def change_card(folder: Path, **fields: Any) -> None:
    path = folder / "clip.json"
    text = path.read_text()
    path.unlink()  # it may be one file with that of another folder
    path.write_text(json.dumps({**json.loads(text), **fields}))


def _copy(root: Path, source: ClipRecipe, target: ClipRecipe, **fields: Any) -> None:
    """As if the target had been rendered too; its pictures are those of the source."""
    folder = clip_folder(root, target)
    shutil.copytree(clip_folder(root, source), folder)
    change_card(folder, case=target.case, camera=target.camera, event=target.event, take=target.take, **fields)
