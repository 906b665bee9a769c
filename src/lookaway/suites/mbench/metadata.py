"""Reads the `metadata` of a sample or a line: scene, prompt and target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

from lookaway.core import Target
from lookaway.io.dataset_files import type_of

Box: TypeAlias = tuple[float, float, float, float]
LARGEST_PIXEL: Final = 1_000_000
"""No image is wider: a larger coordinate is an error."""


def scene_of(metadata: Mapping[str, Any], sample: str) -> str:
    """The scene of a sample, if it is named; else every sample is its own scene."""
    scene = metadata.get("scene")
    return scene if _is_name(scene) else sample


def prompt_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The caption segments, or the whole caption; malformed segments give no prompt."""
    segments, caption = metadata.get("caption_segments"), metadata.get("caption")
    if segments:
        return tuple(segments) if _is_texts(segments) else ()
    return (caption,) if isinstance(caption, str) else ()


def target_of(metadata: Mapping[str, Any]) -> Target | None:
    """The target, as far as its fields are valid."""
    box, card = _box(metadata.get("object_anchor")), metadata.get("object_card")
    if _is_card(card):
        attributes = card.get("core_attributes") or card.get("attributes")
        return Target(name=card["name"], attributes=tuple(attributes) if _is_texts(attributes) else (), box=box)
    return Target(box=box) if box else None


def malformed(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Messages about malformed fields, by name; missing ones are not listed."""
    found, card = dict(metadata), metadata.get("object_card")
    if isinstance(card, dict):
        found |= {f"object_card.{name}": card.get(name) for name in ("core_attributes", "attributes")}
    return {
        name: f"metadata.{name} is {type_of(found[name])}, expected {expected}"
        for name, (is_right, expected) in _EXPECTED.items()
        if found.get(name) is not None and not is_right(found[name])
    }


def _is_name(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_card(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def _box(anchor: object) -> Box | None:
    if isinstance(anchor, dict):
        anchor = [anchor.get(name) for name in ("cx", "cy", "w", "h")]
    if not isinstance(anchor, list) or len(anchor) != 4:
        return None
    if any(isinstance(number, bool) or not isinstance(number, int | float) for number in anchor):
        return None
    if any(abs(number) > LARGEST_PIXEL for number in anchor):
        return None
    x, y, width, height = (float(number) for number in anchor)
    return (x, y, width, height) if width > 0 and height > 0 else None


_EXPECTED: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "scene": (_is_name, "the name of a scene"),
    "caption": (lambda value: isinstance(value, str), "a text"),
    "caption_segments": (_is_texts, "a list of texts"),
    "object_card": (_is_card, "a mapping with a name and core_attributes"),
    "object_card.core_attributes": (_is_texts, "a list of texts"),
    "object_card.attributes": (_is_texts, "a list of texts"),
    "object_anchor": (
        lambda value: _box(value) is not None,
        f"four numbers, or cx, cy, w and h: centre, width and height, both positive, at most {LARGEST_PIXEL}",
    ),
}
