"""Clips of the simulated world, each drawn once for all test processes.

Tests get copies, which they may damage. For a test of drawing itself, there is `tests.support.world.render_small`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import lookaway
from lookaway.io.manifest import write_manifest
from lookaway.world.graphics import software
from lookaway.world.recipe import WORLD_VERSION, ClipRecipe
from lookaway.world.rendering import CaseRenderer, clip_folder
from tests.support.made_once import copy_made, keep_made, key_of, only_one, source_hash
from tests.support.world import small_set


def copy_clips(recipes: Iterable[ClipRecipe], root: Path) -> Path:
    """A set of clips as `render_set` makes it; what cannot be drawn is left out."""
    copy_folders(recipes, root)
    write_manifest(root)
    return root


def copy_folders(recipes: Iterable[ClipRecipe], root: Path) -> None:
    """The folders of clips, without a manifest."""
    for _, group in groupby(recipes, key=lambda recipe: recipe.clean):
        _copy_case(list(group), root)


def copy_small(root: Path, **axes: Any) -> Path:
    """A set of clips that are cheap to draw."""
    return copy_clips(small_set(**axes), root)


def clip_key(recipe: ClipRecipe) -> str:
    """Everything that the files of a clip depend on."""
    return key_of(_world(), recipe)


def _copy_case(recipes: list[ClipRecipe], root: Path) -> None:
    # A studio draws the frames that the clips of a case share once, so one process draws all of them.
    with only_one(clip_key(recipes[0].clean)):
        missing = [recipe for recipe in recipes if not _is_there(recipe, root)]
        if not missing:
            return
        with tempfile.TemporaryDirectory() as folder:
            renderer = CaseRenderer(Path(folder))
            renderer(missing)
            renderer.close()
            for recipe in missing:
                drawn = clip_folder(Path(folder), recipe)
                if drawn.exists():
                    keep_made(clip_key(recipe), drawn)
                    copy_made(clip_key(recipe), clip_folder(root, recipe))


def _is_there(recipe: ClipRecipe, root: Path) -> bool:
    folder = clip_folder(root, recipe)
    return folder.exists() or copy_made(clip_key(recipe), folder)


@cache
def _world() -> str:
    package = Path(lookaway.__file__).parent
    source = source_hash(*(package / name for name in ("core", "io", "world")))
    return key_of(WORLD_VERSION, source, sorted(software().items()))
