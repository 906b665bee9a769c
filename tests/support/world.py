"""Small clips of the simulated world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lookaway.engine.inline import Inline
from lookaway.world.grid import Grid
from lookaway.world.recipe import ClipRecipe
from lookaway.world.rendering import CaseReport, render_set

FORM = ClipRecipe(family="", event="none", camera="", seed=0, width=224, height=128, fps=8, seconds=2.0, wait=0.5)
"""Cheap to draw, and still a memory test."""


def small(**fields: Any) -> ClipRecipe:
    """A recipe of that form, with some fields said otherwise."""
    named = {"family": "playroom", "camera": "yaw_right_60", **fields}
    return replace(FORM, **named)


def small_set(**axes: Any) -> Iterator[ClipRecipe]:
    """Recipes of that form: one case, or what the axes of a grid say."""
    asked = {"families": ("playroom",), "events": ("both",), "cameras": ("yaw_right_60",), "seeds": (0,)}
    return Grid(**{**asked, **axes}).recipes(FORM)


def render_small(root: Path, **axes: Any) -> list[CaseReport]:
    """Draw such clips, always; `copy_small` is for whoever only wants to have them."""
    return render_set(small_set(**axes), root, Inline())
