"""A request in the format of the OpenAI chat completions API."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lookaway.core import JudgeRequest, Picture
from lookaway.core.judging import Media
from lookaway.io.encoding import write_video
from lookaway.io.pictures import jpeg_bytes, png_bytes

Part: TypeAlias = str | tuple[Picture, ...]
"""Text, or pictures that are sent as one part: a single frame, or all frames of a video."""
Turn: TypeAlias = tuple[Literal["system", "user", "assistant"], tuple[Part, ...]]

SCHEMA_IN_WORDS = "The answer is one JSON object, with no other text before or after it, of this JSON schema:"


def turns(request: JudgeRequest) -> Iterator[Turn]:
    """The system prompt, the question with its frames and material, and earlier answers with their corrections."""
    yield "system", (request.system,)
    yield "user", tuple(_question(request))
    for answer, complaint in request.corrections:
        yield "assistant", (answer,)
        yield "user", (complaint,)


def _question(request: JudgeRequest) -> Iterator[Part]:
    # Chat templates concatenate parts, so each text ends its own line.
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
    for number, picture in enumerate(pictures, start=1):
        yield f"Frame {number} of {len(pictures)}, at {picture.time_seconds:.2f} s:\n"
        yield (picture,)


def completion_fields(request: JudgeRequest) -> dict[str, Any]:
    """All fields of a chat completion request, pictures included."""
    sampling = request.judge.sampling
    fields: dict[str, Any] = {
        "model": request.judge.model,
        "messages": [_message(turn, request.judge.media) for turn in turns(request)],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": request.max_tokens or sampling.max_tokens,
    }
    if request.seed is not None:
        fields["seed"] = request.seed
    if request.token_choices:
        fields |= {"logprobs": True, "top_logprobs": request.token_choices}
    if request.schema is not None and request.judge.wording == "schema":
        fields["response_format"] = {"type": "json_schema", "json_schema": request.schema}
    return fields


def _message(turn: Turn, media: Media) -> dict[str, Any]:
    role, parts = turn
    if role == "user":
        return {"role": role, "content": [_content(part, media) for part in parts]}
    return {"role": role, "content": "".join(part for part in parts if isinstance(part, str))}


def _content(part: Part, media: Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if media == "video":
        return {"type": "video_url", "video_url": {"url": _data_url("video/mp4", _video(part))}}
    encoded = (png_bytes if media == "png" else jpeg_bytes)(part[0].pixels)
    return {"type": "image_url", "image_url": {"url": _data_url(f"image/{media}", encoded)}}


def _video(pictures: tuple[Picture, ...]) -> bytes:
    """The frames at the rate at which they were sampled; H.264 needs even sides, so an odd row or column is dropped."""
    span = pictures[-1].time_seconds - pictures[0].time_seconds
    fps = max(1, round((len(pictures) - 1) / span)) if span > 0 else 1
    height, width = (side - side % 2 for side in pictures[0].pixels.shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.mp4"
        write_video(path, (picture.pixels[:height, :width] for picture in pictures), fps)
        return path.read_bytes()


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
