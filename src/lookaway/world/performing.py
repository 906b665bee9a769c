"""One clip of an actor from a recipe in a file, as any other model makes one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lookaway.core import UnknownName
from lookaway.io.dataset_files import read_record
from lookaway.world.actors import ACTORS
from lookaway.world.clip import path_of
from lookaway.world.recipe import ClipRecipe
from lookaway.world.studio import Studio
from lookaway.world.words import words_of
from lookaway.world.writing import is_finished, write_shot


class ControlRecord(BaseModel):
    """The recipe of a case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    family: str
    event: Literal["none", "spatial", "in_place", "both"]
    camera: str
    seed: Annotated[int, Field(ge=0)]
    width: int
    height: int
    fps: int
    seconds: float
    wait: float


def perform(control: Path, folder: Path, actor: str, take: int) -> bool:
    """Write the clip of an actor into a folder; returns whether it was not there already."""
    if actor not in ACTORS:
        raise UnknownName("actor", actor, ACTORS)
    case = ClipRecipe(**read_record(control, ControlRecord).model_dump())
    recipe = ACTORS[actor].plays(case, path_of(case), take)
    if is_finished(folder, recipe):
        return False
    studio = Studio()
    try:
        shot = studio.shoot(recipe)
        write_shot(shot, folder, words_of(shot.clip))
    finally:
        studio.close()
    return True
