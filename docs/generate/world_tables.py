"""What the site says about the simulated world."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel

from generate.markdown import escaped, summary, table
from lookaway.io.clip_card import ClipCard
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.clip import build_scene
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS


def world_families() -> str:
    """All families of scenes, with their targets and what happens to them."""
    rows = []
    for name, build in FAMILIES.items():
        scene = build_scene(name, seed=0)
        rows.append(
            (f"`{name}`", summary(build), scene.target.name, escaped(scene.motion.verb), escaped(scene.process.name))
        )
    return table(("Family", "Place", "Target", "It moves", "It changes"), rows)


def world_cameras() -> str:
    """All camera paths."""
    rows = [(f"`{path.name}`", f"`{path.action}`", path.words) for path in CAMERAS.values()]
    return table(("Camera", "Action", "What it does"), rows)


def world_faults() -> str:
    """All faults, with their severities and with the metrics that must and must not react."""
    rows = []
    for fault in FAULTS.values():
        moves, spares = (
            ", ".join(f"[{name}](metrics/{name}.md)" for name in names) or "none"
            for names in (fault.moves, fault.spares)
        )
        begins = "while the target is out of view" if fault.begins_unseen else "with the camera's motion"
        rows.append((f"`{fault.name}`", escaped(fault.summary), fault.dose_unit, begins, moves, spares))
    header = ("Fault", "At severity s", "Unit of dose", "Begins", "Must react", "Must not react")
    return table(header, rows)


def world_actors() -> str:
    """All actors, from the best to the worst."""
    rows = []
    for actor in ACTORS.values():
        habits = ", ".join(f"`{fault}` {low:g} to {high:g}" for fault, (low, high) in actor.habits)
        rows.append((f"`{actor.name}`", escaped(actor.summary), habits or "none"))
    return table(("Actor", "What it does", "Faults and their severities"), rows)


def clip_fields() -> str:
    """Every field of `clip.json`."""
    return table(("Field", "Meaning"), _card_rows("", ClipCard))


def _card_rows(prefix: str, kind: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for name, field in kind.model_fields.items():
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if inspect.isclass(part)]
        nested = next((part for part in inner if issubclass(part, BaseModel)), None)
        repeats = "[]" if nested is not None and nested is not field.annotation else ""
        meaning = field.description or (nested.__doc__ if nested else None) or name.replace("_", " ")
        yield f"`{prefix}{name}{repeats}`", escaped(meaning)
        if nested is not None:
            yield from _card_rows(f"{prefix}{name}{repeats}.", nested)
