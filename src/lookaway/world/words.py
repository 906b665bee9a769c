"""Text of a clip: caption, five segments, action, and a question about its end."""

from __future__ import annotations

from dataclasses import dataclass

from lookaway.world.clip import Clip
from lookaway.world.nouns import Scene

AWAY = "Meanwhile {target} is out of sight; everything goes on."


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipWords:
    """The prompt for a model, and a question for a viewer."""

    caption: str
    caption_segments: tuple[str, str, str, str, str]
    action: str
    question: str
    choices: tuple[str, ...]
    answer: str


def words_of(clip: Clip) -> ClipWords:
    """Text of a case; true of a world that remembers everything."""
    scene, event, path = clip.scene, clip.recipe.event, clip.path
    target = f"the {scene.target.name}"
    happening = _happening(scene, event)
    opening = f"The scene is {scene.place}. In view stands {_article(scene.target.name)} {scene.target.name}"
    opening += f", {scene.process.before}."
    leaves = f"{_sentence(path.words)}." if path.looks_away else f"{_sentence(path.words)}; {target} stays in view."
    middle = AWAY.format(target=target) if path.looks_away else f"{_sentence(happening)}."
    back = f"The first view comes back, and with it {target}." if path.looks_away else "The view goes on."
    question, choices, answer = _question(scene, event)
    return ClipWords(
        caption=" ".join([opening, f"{_sentence(happening)} while {path.words}."]),
        caption_segments=(opening, f"{_sentence(happening)}. {leaves}", middle, back, _ending(scene, event)),
        action=path.action,
        question=question,
        choices=choices,
        answer=answer,
    )


def _happening(scene: Scene, event: str) -> str:
    target = f"the {scene.target.name}"
    return {
        "none": f"{target} stays as it is",
        "spatial": f"{target} {scene.motion.verb}",
        "in_place": f"{target} {scene.process.name}",
        "both": f"{target} {scene.motion.verb} and {scene.process.name}",
    }[event]


def _ending(scene: Scene, event: str) -> str:
    place = "has moved on from its first place" if event in ("spatial", "both") else "is where it was"
    state = scene.process.after if event in ("in_place", "both") else scene.process.before
    return f"At the end the {scene.target.name} {place} and is {state}."


def _question(scene: Scene, event: str) -> tuple[str, tuple[str, ...], str]:
    name, before, after = scene.target.name, scene.process.before, scene.process.after
    places = ("where it was at first", "somewhere else")
    choices = tuple(f"{place}, {state}" for place in places for state in (before, after))
    has_moved, has_changed = event in ("spatial", "both"), event in ("in_place", "both")
    answer = f"{places[has_moved]}, {after if has_changed else before}"
    return f"Where is the {name} when it is seen last, and in what state?", choices, answer


def _article(name: str) -> str:
    return "an" if name[0] in "aeiou" else "a"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]
