"""Writes a rendered clip and its ground truth into a folder."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Indices, UserError
from lookaway.io.clip_card import (
    ClipArrays,
    ClipCard,
    HashesCard,
    InjectionCard,
    PhasesCard,
    QuestionCard,
    ThingCard,
    hash_arrays,
    hash_pictures,
    write_clip_arrays,
)
from lookaway.io.encoding import write_video
from lookaway.io.files import write_json
from lookaway.io.planes import write_planes
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH, INSTANCES, VIDEO, WorldClip
from lookaway.world.faults import find_fault
from lookaway.world.graphics import software
from lookaway.world.phases import Phases
from lookaway.world.recipe import WORLD_VERSION, ClipRecipe, Injection
from lookaway.world.studio import Shot
from lookaway.world.words import ClipWords

METRES_PER_STEP: Final = 0.001
MAX_STEPS: Final = np.iinfo(np.uint16).max
"""65.5 m; larger depths are clipped."""


def write_shot(shot: Shot, folder: Path, words: ClipWords) -> ClipCard:
    """Write video, depth, instances, arrays, and the card last: a clip with a card is complete."""
    (folder / CARD).unlink(missing_ok=True)
    pictures = [view.picture for view in shot.views]
    instances = [view.instances for view in shot.views]
    depth = [_steps(view.depth) for view in shot.views]
    arrays = _arrays(shot)
    write_video(folder / VIDEO, pictures, shot.recipe.fps)
    write_planes(folder / DEPTH, depth)
    write_planes(folder / INSTANCES, instances)
    write_clip_arrays(folder / ARRAYS, arrays)
    hashes = HashesCard(
        frames=hash_pictures(pictures),
        depth=hash_pictures(depth),
        instances=hash_pictures(instances),
        arrays=hash_arrays(arrays.named()),
    )
    card = _card(shot, words, hashes)
    write_json(folder / CARD, card.model_dump(mode="json"))
    return card


def is_finished(folder: Path, recipe: ClipRecipe) -> bool:
    """Whether a complete clip of this recipe is there."""
    try:
        clip = WorldClip.open(folder)
        # A path from a file is known by its id, which holds a hash of it.
        is_same = _recipe(clip.card) == replace(recipe, free_path=None) and clip.card.case == recipe.case
    except UserError:
        return False
    return is_same and clip.card.world_version == WORLD_VERSION and all(file.is_file() for file in clip.files)


def _steps(metres: NDArray[np.float32]) -> NDArray[np.uint16]:
    steps = np.clip(np.rint(metres.astype(np.float64) / METRES_PER_STEP), 1, MAX_STEPS)
    return np.where(metres > 0, steps, 0).astype(np.uint16)


def _arrays(shot: Shot) -> ClipArrays:
    table, recipe = shot.table, shot.recipe
    return ClipArrays(
        camera_to_world=table.camera,
        requested_camera_to_world=shot.clip.table.camera[: recipe.frames],
        intrinsics=shot.intrinsics,
        timestamps=np.arange(recipe.frames) / recipe.fps,
        position=table.position,
        quaternion_wxyz=table.quaternion,
        opacity=table.opacity,
        progress=table.progress,
        visible_area=np.array([_areas(view.instances, len(shot.clip.scene.things)) for view in shot.views]),
        scene_time=table.time,
    )


def _areas(instances: NDArray[np.uint8], things: int) -> Indices:
    return np.bincount(instances.ravel(), minlength=things + 1)[1:].astype(np.int64)


def _card(shot: Shot, words: ClipWords, hashes: HashesCard) -> ClipCard:
    recipe, scene = shot.recipe, shot.clip.scene
    return ClipCard(
        world_version=WORLD_VERSION,
        case=recipe.case,
        family=recipe.family,
        event=recipe.event,
        camera=recipe.camera,
        seed=recipe.seed,
        model=recipe.model,
        take=recipe.take,
        injections=_injections(shot),
        width=recipe.width,
        height=recipe.height,
        fps=recipe.fps,
        frames=recipe.frames,
        seconds=recipe.seconds,
        wait=recipe.wait,
        place=scene.place,
        things=_things(shot),
        target_box=_box(shot.views[0].instances == 1),
        motion=scene.motion.verb,
        process=(scene.process.name, scene.process.before, scene.process.after),
        light_flicker_stops=scene.flicker_stops,
        phases=_phases(shot.phases),
        caption=words.caption,
        caption_segments=words.caption_segments,
        action=words.action,
        question=QuestionCard(question=words.question, choices=words.choices, answer=words.answer),
        depth_metres_per_step=METRES_PER_STEP,
        software=software(),
        hashes=hashes,
    )


def _injections(shot: Shot) -> tuple[InjectionCard, ...]:
    return tuple(
        InjectionCard(
            fault=injection.fault,
            severity=injection.severity,
            dose=dose,
            dose_unit=find_fault(injection.fault).dose_unit,
        )
        for injection, dose in zip(shot.recipe.injections, shot.doses, strict=True)
    )


def _things(shot: Shot) -> tuple[ThingCard, ...]:
    moving = {motion.thing for motion in shot.clip.scene.idle}
    return tuple(
        ThingCard(
            id=number,
            name=thing.name,
            role=thing.role,
            is_movable=thing.is_movable,
            diameter_metres=thing.diameter,
            moves_by_itself=thing.name in moving,
        )
        for number, thing in enumerate(shot.clip.scene.things, start=1)
    )


def _phases(phases: Phases) -> PhasesCard:
    runs = [[frame for frame, _ in run] for _, run in groupby(enumerate(phases.causes), key=lambda pair: pair[1])]
    return PhasesCard(
        visible=(0, phases.d_start),
        disappeared=(phases.d_start, phases.r_start),
        reappeared=(phases.r_start, phases.frames),
        causes=tuple((phases.causes[run[0]], run[0], run[-1] + 1) for run in runs),
    )


def _box(mask: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return 0.0, 0.0, 0.0, 0.0
    height, width = mask.shape
    top, bottom, left, right = rows[0] / height, (rows[-1] + 1) / height, columns[0] / width, (columns[-1] + 1) / width
    return float((left + right) / 2), float((top + bottom) / 2), float(right - left), float(bottom - top)


def _recipe(card: ClipCard) -> ClipRecipe:
    return ClipRecipe(
        family=card.family,
        event=card.event,
        camera=card.camera,
        seed=card.seed,
        model=card.model,
        take=card.take,
        injections=tuple(Injection(fault=found.fault, severity=found.severity) for found in card.injections),
        width=card.width,
        height=card.height,
        fps=card.fps,
        seconds=card.seconds,
        wait=card.wait,
    )
