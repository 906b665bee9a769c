"""Parses the question in a chat-completion request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lookaway.core import Json, LookawayError, digest
from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.question import Answer


class CannotAnswer(LookawayError):
    """The oracle cannot answer this question; asking again does not help."""


MATERIAL = re.compile(r'<material name="([^"\n]*)">\n(.*)\n</material>')
FRAME_LABEL = re.compile(r"Frame \d+ of \d+, at (-?[\d.]+) s:")
VIDEO_LABEL = re.compile(r"A video of \d+ frames, at (.+) s\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuestion:
    """The parts of a request that matter for its answer."""

    model: str
    key: str
    """Key of the question without later corrections."""
    is_corrected: bool
    instruction: str
    material: Mapping[str, Json]
    pictures: tuple[str, ...]
    """Data URLs."""
    video: str | None
    """Data URL."""
    times_seconds: tuple[float, ...]
    """Times of the pictures from their labels; empty if there are none."""
    token_choices: int | None
    """`None` if no log-probabilities are requested."""
    max_tokens: int | None
    leaves_to_chance: bool
    """Whether the same request may get a different answer next time."""
    text_characters: int


def read_question(fields: Json, key: str) -> ParsedQuestion:
    """Parse a request; raises `CannotAnswer` if it is not a valid chat completion request."""
    try:
        messages = fields["messages"]
        first = next(index for index, message in enumerate(messages) if message["role"] == "user")
        parts = _parts(messages[first]["content"])
        texts = [part["text"] for part in parts if part["type"] == "text"]
        pictures = tuple(part["image_url"]["url"] for part in parts if part["type"] == "image_url")
        video = next((part["video_url"]["url"] for part in parts if part["type"] == "video_url"), None)
        is_corrected = first < len(messages) - 1
        return ParsedQuestion(
            model=str(fields.get("model", "")),
            key=digest({**fields, "messages": messages[: first + 1]}) if is_corrected else key,
            is_corrected=is_corrected,
            instruction=texts[0],
            material=_material("\n".join(texts)),
            pictures=pictures,
            video=video,
            times_seconds=tuple(_times(texts)),
            token_choices=int(fields.get("top_logprobs") or 0) if fields.get("logprobs") else None,
            max_tokens=fields.get("max_completion_tokens") or fields.get("max_tokens"),
            leaves_to_chance=fields.get("seed") is None and fields.get("temperature", 1.0) > 0,
            text_characters=sum(len(text) for text in texts),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration) as error:
        raise CannotAnswer(
            f"the request cannot be parsed ({error!r:.200}); expected messages with a user message whose content is "
            "text, or parts of type text, image_url and video_url that begin with text."
        ) from error


def _parts(content: Json) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _material(text: str) -> dict[str, Json]:
    return {name: json.loads(value) for name, value in MATERIAL.findall(text)}


def _times(texts: Iterable[str]) -> Iterable[float]:
    for text in texts:
        if label := FRAME_LABEL.fullmatch(text.strip()):
            yield float(label[1])
        elif label := VIDEO_LABEL.fullmatch(text.strip()):
            yield from (float(time) for time in label[1].split(", "))


AnswerFunction: TypeAlias = Callable[[KnownClip | None, Mapping[str, Json], tuple[int, ...]], Answer | bool]
"""Maps the clip that is shown (`None` without pictures), the material by name, and the frame indices to an answer: an
object, or whether the answer is yes."""
