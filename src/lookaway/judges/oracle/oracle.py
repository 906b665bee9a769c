"""From a question to what is said: who is shown, what is asked, what is true, and what the dials make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Json, UserError
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.judges.oracle.asked import AnswerFunction, Asked, CannotAnswer
from lookaway.judges.oracle.clip_index import know_clips
from lookaway.judges.oracle.completion import Said, yes_or_no
from lookaway.judges.oracle.distortion import distorted, mistyped
from lookaway.judges.oracle.frame_lookup import Eyes, FrameLookup
from lookaway.judges.oracle.noise import Chance, Noise
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer

BARE = "{said}"
PROSE = "I looked at all frames carefully. My answer would be {said}, as far as I can tell."
FENCE = "```json\n{said}\n```"
REFUSALS = (
    Said(content=None, refusal="This cannot be answered."),
    Said(content="", finish="content_filter"),
    Said(content="I'm sorry, but I can't help with that."),
)


@dataclass(frozen=True, slots=True)
class Heard:
    """What is said to a question, and how much was looked at."""

    said: Said
    pixels: int


class Oracle:
    """Answers questions from truth, distorted by its dials."""

    def __init__(
        self, world: Path | Sequence[WorldClip] | None, answers: Mapping[str, AnswerFunction], noise: Noise
    ) -> None:
        self._dials = noise
        self._eyes = None if world is None else Eyes(know_clips(_clips(world)))
        known = {**TRUE_ANSWERS, **answers}
        by_length = sorted(known, key=lambda name: (-len(name), name))
        self._answers = [(name, _words(name), known[name]) for name in by_length]

    def hear(self, asked: Asked, attempt: Chance, fault: str | None) -> Heard:
        """What is said in this attempt; a `CannotAnswer` where the question is not known."""
        sight = self._sight(asked)
        answer = self._function(asked)(sight.clip if sight else None, asked.material, sight.frames if sight else ())
        chance = Chance(self._dials.seed, asked.key, attempt.attempt if asked.leaves_to_chance else 0)
        answer = distorted(answer, self._dials, chance)
        if fault == "wrong_types":
            said = Said(content=answer if isinstance(answer, bool) else json.dumps(mistyped(_object(answer))))
        elif isinstance(answer, bool):
            said = yes_or_no(self._dials.p_yes(answer))
        else:
            said = Said(content=self._form(asked, attempt).format(said=json.dumps(_object(answer))))
        return Heard(_spoilt(said, fault, attempt), sight.pixels if sight else 0)

    def _sight(self, asked: Asked) -> FrameLookup | None:
        if asked.video is not None and not self._dials.takes_video:
            raise CannotAnswer("this model takes no video; send pictures.")
        if asked.video is None and not asked.pictures:
            return None
        if self._eyes is None:
            raise CannotAnswer("pictures are shown to an oracle that has no world; give it the one they come from.")
        return self._eyes.add_frame(asked)

    def _function(self, asked: Asked) -> AnswerFunction:
        for _, words, function in self._answers:
            if words in asked.instruction:
                return function
        known = ", ".join(sorted(name for name, _, _ in self._answers))
        raise CannotAnswer(
            f"no answer is known to the instruction {asked.instruction[:80]!r}, only to those of the prompts {known}. "
            "Give the oracle a function for it: answers={name: function}."
        )

    def _form(self, asked: Asked, attempt: Chance) -> str:
        """A judge that is free in its words keeps to the form once somebody has complained."""
        return BARE if self._dials.holds_schema or asked.is_corrected else attempt.pick("form", (PROSE, FENCE))


def _clips(world: Path | Sequence[WorldClip]) -> Sequence[WorldClip]:
    clips = open_world(world) if isinstance(world, Path) else world
    if not clips:
        raise UserError(f"{world}: there is no clip of the simulated world; render some with `lookaway world render`.")
    return clips


def _object(answer: Answer) -> Json:
    return answer.model_dump(mode="json")


def _words(name: str) -> str:
    """The text of the prompt of this name; a name with spaces stands for itself."""
    return name if " " in name else Prompt.named(name).text.strip()


def _spoilt(said: Said, fault: str | None, attempt: Chance) -> Said:
    match fault:
        case "truncated_answer":
            text = str(said.content)
            return Said(content=text[: len(text) // 2], finish="length")
        case "empty_answer":
            return Said(content="")
        case "refusal":
            return attempt.pick("refusal", REFUSALS)
        case _:
            return said
