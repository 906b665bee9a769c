"""Answers a parsed question: finds the clip and the true answer, and applies noise and errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import Json, UserError
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.judges.oracle.clip_index import index_clips
from lookaway.judges.oracle.completion import Message, yes_or_no
from lookaway.judges.oracle.frame_lookup import FrameLookup, FrameMatch
from lookaway.judges.oracle.noise import Chance, Noise, distorted, mistyped
from lookaway.judges.oracle.parsed_question import AnswerFunction, CannotAnswer, ParsedQuestion
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer

BARE = "{answer}"
PROSE = "I looked at all frames carefully. My answer would be {answer}, as far as I can tell."
FENCE = "```json\n{answer}\n```"
REFUSALS = (
    Message(content=None, refusal="This cannot be answered."),
    Message(content="", finish="content_filter"),
    Message(content="I'm sorry, but I can't help with that."),
)


@dataclass(frozen=True, slots=True)
class OracleAnswer:
    """The message that answers a question, and how many pixels were shown."""

    message: Message
    pixels: int


class Oracle:
    """Answers questions from the truth, with noise."""

    def __init__(
        self, world: Path | Sequence[WorldClip] | None, answers: Mapping[str, AnswerFunction], noise: Noise
    ) -> None:
        self._noise = noise
        self._lookup = None if world is None else FrameLookup(index_clips(_clips(world)))
        functions = {**TRUE_ANSWERS, **answers}
        by_length = sorted(functions, key=lambda name: (-len(name), name))
        self._answers = [(name, _words(name), functions[name]) for name in by_length]

    def answer(self, question: ParsedQuestion, attempt: Chance, error: str | None) -> OracleAnswer:
        """The answer in this attempt, with a server error if one is given; raises `CannotAnswer` if there is none."""
        match = self._match(question)
        answer = self._function(question)(
            match.clip if match else None, question.material, match.frames if match else ()
        )
        chance = Chance(self._noise.seed, question.key, attempt.attempt if question.leaves_to_chance else 0)
        is_shuffled = question.times_seconds != tuple(sorted(question.times_seconds))
        answer = distorted(answer, self._noise, chance, is_shuffled=is_shuffled)
        if error == "wrong_types":
            message = Message(content=answer if isinstance(answer, bool) else json.dumps(mistyped(_object(answer))))
        elif isinstance(answer, bool):
            message = yes_or_no(self._noise.p_yes(answer))
        else:
            message = Message(content=self._form(question, attempt).format(answer=json.dumps(_object(answer))))
        return OracleAnswer(_damaged(message, error, attempt), match.pixels if match else 0)

    def _match(self, question: ParsedQuestion) -> FrameMatch | None:
        if question.video is not None and not self._noise.takes_video:
            raise CannotAnswer("this model takes no video; send pictures instead.")
        if question.video is None and not question.pictures:
            return None
        if self._lookup is None:
            raise CannotAnswer(
                "the question has pictures, but the oracle has no world. Start it with the world that they come from."
            )
        return self._lookup.find(question)

    def _function(self, question: ParsedQuestion) -> AnswerFunction:
        for _, words, function in self._answers:
            if words in question.instruction:
                return function
        known = ", ".join(sorted(name for name, _, _ in self._answers))
        raise CannotAnswer(
            f"the oracle has no answer to the instruction {question.instruction[:80]!r}, only to the prompts {known}. "
            "Give it a function for this one: answers={name: function}."
        )

    def _form(self, question: ParsedQuestion, attempt: Chance) -> str:
        """A judge that ignores the schema follows it after a correction."""
        return BARE if self._noise.holds_schema or question.is_corrected else attempt.pick("form", (PROSE, FENCE))


def _clips(world: Path | Sequence[WorldClip]) -> Sequence[WorldClip]:
    clips = open_world(world) if isinstance(world, Path) else world
    if not clips:
        raise UserError(f"{world}: no clips of the simulated world found. Render some with `lookaway world render`.")
    return clips


def _object(answer: Answer) -> Json:
    return answer.model_dump(mode="json")


def _words(name: str) -> str:
    """The text of the prompt with this name; a name with spaces is text itself."""
    return name if " " in name else Prompt.named(name).text.strip()


def _damaged(message: Message, error: str | None, attempt: Chance) -> Message:
    match error:
        case "truncated_answer":
            text = str(message.content)
            return Message(content=text[: len(text) // 2], finish="length")
        case "empty_answer":
            return Message(content="")
        case "refusal":
            return attempt.pick("refusal", REFUSALS)
        case _:
            return message
