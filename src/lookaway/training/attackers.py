"""Videos that cheat a reward: what a policy finds that is paid for looking consistent instead of for remembering."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from lookaway.calibration.clip_changes import CONTROLS, ClipChange, Edit, Pictures, edit_frames, random_of, read_frames
from lookaway.core import Executor, Floats, Rollout
from lookaway.engine.reading import read
from lookaway.engine.scorer import CasePaths
from lookaway.io.world_clips import WorldClip
from lookaway.perception.truth import TRUTH
from lookaway.world.events import Event
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import CaseReport, render_set

FORM: Final = ClipRecipe(
    family="", event="none", camera="yaw_left_60", seed=0, width=336, height=192, fps=8, seconds=4.0
)
FAMILIES: Final = ("kitchen", "lobby", "office", "street")
SHARP_PART: Final = 0.1
"""Part of the clip that stays as it is, since the first frames are given to a model."""
BLUR: Final = 0.012
"""Standard deviation of the strongest blur, as a part of the height: mild enough for the camera to be tracked."""
FADE: Final = 0.6
"""How far colours fade towards the mean of the picture."""

Frames = NDArray[np.uint8]
"""[frames, 3, height, width]."""
Base = Literal["clean", "forgets", "drags", "event"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacker:
    """One cheat, and the clip that it is made from."""

    name: str
    summary: str
    base: Base
    edit: Edit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackClip:
    """One video for a reward, with what a trainer knows about it."""

    attacker: str
    scene: str
    frames: Frames
    fps: float
    paths: CasePaths


def growing(strongest: Callable[[Pictures, float], Pictures]) -> Edit:
    """An edit that begins after the first frames and grows to its full strength at a third of the clip."""

    def grow(frames: Pictures, rng: np.random.Generator) -> Pictures:
        strengths = np.clip((np.linspace(0, 1, len(frames)) - SHARP_PART) / (1 / 3 - SHARP_PART), 0, 1)
        return np.stack([strongest(frame, s) if s else frame for frame, s in zip(frames, strengths, strict=True)])

    return grow


def _soft(frame: Pictures, strength: float) -> Pictures:
    return np.asarray(cv2.GaussianBlur(frame, (0, 0), strength * BLUR * frame.shape[0]))


def _pale(frame: Pictures, strength: float) -> Pictures:
    """Towards the mean colour of the picture, where less is left to compare."""
    mean = frame.mean(axis=(0, 1), keepdims=True)
    return np.asarray(frame + FADE * strength * (mean - frame))


def _reordered(name: str) -> Edit:
    order = CONTROLS[name].order
    if order is None:
        raise ValueError(f"{name} does not reorder frames")

    def show(frames: Pictures, rng: np.random.Generator) -> Pictures:
        return frames[order(len(frames), rng)]

    return show


ATTACKERS: Final[Mapping[str, Attacker]] = {
    attacker.name: attacker
    for attacker in (
        Attacker(name="frozen", summary="the first frame for the whole time", base="clean", edit=_reordered("frozen")),
        Attacker(name="dragged", summary="the target stays in view as the camera turns", base="drags"),
        Attacker(
            name="overlay", summary=CONTROLS["overlay"].summary, base="clean", edit=CONTROLS["overlay"].edit
        ),
        Attacker(name="static_crop", summary=CONTROLS["crop"].summary, base="clean", edit=CONTROLS["crop"].edit),
        Attacker(name="blur", summary="a forgotten target behind a growing blur", base="forgets", edit=growing(_soft)),
        Attacker(name="fade", summary="a forgotten target behind a growing fade", base="forgets", edit=growing(_pale)),
        Attacker(
            name="loop_back", summary="the first half backwards, so that an event is undone", base="event",
            edit=_reordered("loop"),
        ),
    )
}  # fmt: skip


def render_clips(
    folder: Path,
    executor: Executor,
    on_case: Callable[[CaseReport], object] | None = None,
    *,
    families: tuple[str, ...] = FAMILIES,
) -> dict[Base, list[Rollout]]:
    """Clips of the simulated world that attackers are made from; those that are there already are kept."""
    still = _rendered(folder / "still", families, "none", ("vanish", "dragged_along"), executor, on_case)
    event = _rendered(folder / "event", families, "spatial", (), executor, on_case)
    return {
        "clean": [rollout for rollout in still if rollout.model == PERFECT],
        "forgets": [rollout for rollout in still if rollout.model.startswith("vanish")],
        "drags": [rollout for rollout in still if rollout.model.startswith("dragged_along")],
        "event": [rollout for rollout in event if rollout.model == PERFECT],
    }


def _rendered(
    root: Path, families: tuple[str, ...], event: Event, faults: tuple[str, ...], executor: Executor,
    on_case: Callable[[CaseReport], object] | None,
) -> tuple[Rollout, ...]:  # fmt: skip
    grid = Grid(
        families=families, events=(event,), cameras=(FORM.camera,), seeds=(FORM.seed,), faults=faults,
        severities=(1.0,) if faults else (),
    )  # fmt: skip
    recipes = list(grid.recipes(replace(FORM, event=event)))
    render_set(recipes, root, executor, on_case)
    cases = {recipe.case for recipe in recipes}  # the folder may hold others from an earlier call
    return tuple(rollout for rollout in read(root).rollouts if rollout.case.id in cases)


def clips_of(rollouts: Mapping[Base, list[Rollout]]) -> Iterator[AttackClip]:
    """A perfect memory of each still scene first, then every attacker."""
    yield from (_clip(PERFECT, rollout, None) for rollout in rollouts["clean"])
    for attacker in ATTACKERS.values():
        yield from (_clip(attacker.name, rollout, attacker.edit) for rollout in rollouts[attacker.base])


def _clip(attacker: str, rollout: Rollout, edit: Edit | None) -> AttackClip:
    frames = read_frames(rollout.video)
    if edit is not None:
        change = ClipChange(name=attacker, kind="control", summary="", edit=edit)
        frames = edit_frames(frames, change, random_of(change, rollout))
    arrays = WorldClip.open(rollout.artifacts[TRUTH].parent).arrays()
    requested: Floats = arrays.requested_camera_to_world
    return AttackClip(
        attacker=attacker, scene=rollout.case.scene, frames=np.ascontiguousarray(frames.transpose(0, 3, 1, 2)),
        fps=FORM.fps, paths=CasePaths(requested=requested, intrinsics=arrays.intrinsics),
    )  # fmt: skip
