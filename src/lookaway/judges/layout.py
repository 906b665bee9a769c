"""In which order a judge is told and shown things, whoever it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias

from lookaway.core import JudgeRequest, Picture

Part: TypeAlias = str | tuple[Picture, ...]
"""Text, or pictures that are sent as one: a single frame, or all frames of a video."""
Turn: TypeAlias = tuple[Literal["system", "user", "assistant"], tuple[Part, ...]]

SCHEMA_IN_WORDS = "The answer is one JSON object, with no other text before or after it, of this JSON schema:"


def turns(request: JudgeRequest) -> Iterator[Turn]:
    """The rules, the question with its frames and its material, and what was said about answers before."""
    yield "system", (request.system,)
    yield "user", tuple(_question(request))
    for answer, complaint in request.corrections:
        yield "assistant", (answer,)
        yield "user", (complaint,)


def _question(request: JudgeRequest) -> Iterator[Part]:
    # Chat templates put parts one right after the other, so each text ends its own line.
    yield f"{request.instruction}\n"
    if request.schema is not None and request.judge.wording == "text":
        yield f"{SCHEMA_IN_WORDS}\n{json.dumps(request.schema['schema'], sort_keys=True)}\n"
    yield from _frames(request)
    if request.material:
        yield f"{request.material}\n"


def _frames(request: JudgeRequest) -> Iterator[Part]:
    pictures = request.pictures
    if not pictures:
        return
    if request.judge.media == "video":
        times = ", ".join(f"{picture.time_seconds:.2f}" for picture in pictures)
        yield f"A video of {len(pictures)} frames, at {times} s.\n"
        yield pictures
        return
    for place, picture in enumerate(pictures, start=1):
        yield f"Frame {place} of {len(pictures)}, at {picture.time_seconds:.2f} s:\n"
        yield (picture,)
