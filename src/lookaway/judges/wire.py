"""A question in the words of the OpenAI protocol."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookaway.core import JudgeModel, JudgeRequest, Picture
from lookaway.io.encoding import write_video
from lookaway.io.picture_files import jpeg_bytes, png_bytes

SCHEMA_IN_WORDS = "The answer is one JSON object, with no other text before or after it, of this JSON schema:"


def completion_fields(request: JudgeRequest) -> dict[str, Any]:
    """Everything that a chat completion is asked with, pictures included."""
    sampling = request.judge.sampling
    fields: dict[str, Any] = {
        "model": request.judge.model,
        "messages": list(_messages(request)),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": request.most_tokens or sampling.most_tokens,
    }
    if request.seed is not None:
        fields["seed"] = request.seed
    if request.token_choices:
        fields |= {"logprobs": True, "top_logprobs": request.token_choices}
    if request.schema is not None and request.judge.wording == "schema":
        fields["response_format"] = {"type": "json_schema", "json_schema": request.schema}
    return fields


def _messages(request: JudgeRequest) -> Iterator[dict[str, Any]]:
    yield {"role": "system", "content": request.system}
    parts = [_text(request.instruction)]
    if request.schema is not None and request.judge.wording == "text":
        parts.append(_text(f"{SCHEMA_IN_WORDS}\n{json.dumps(request.schema['schema'], sort_keys=True)}"))
    parts += _media(request.judge, request.pictures)
    if request.material:
        parts.append(_text(request.material))
    yield {"role": "user", "content": parts}
    for answer, complaint in request.corrections:
        yield {"role": "assistant", "content": answer}
        yield {"role": "user", "content": complaint}


def _media(judge: JudgeModel, pictures: tuple[Picture, ...]) -> list[dict[str, Any]]:
    if not pictures:
        return []
    if judge.media == "video":
        times = ", ".join(f"{picture.time_seconds:.2f}" for picture in pictures)
        url = _data_url("video/mp4", _video(pictures))
        return [
            _text(f"A video of {len(pictures)} frames, at {times} s."),
            {"type": "video_url", "video_url": {"url": url}},
        ]
    parts = []
    for place, picture in enumerate(pictures, start=1):
        parts.append(_text(f"Frame {place} of {len(pictures)}, at {picture.time_seconds:.2f} s:"))
        encoded = png_bytes(picture.pixels) if judge.media == "png" else jpeg_bytes(picture.pixels)
        parts.append({"type": "image_url", "image_url": {"url": _data_url(f"image/{judge.media}", encoded)}})
    return parts


def _video(pictures: tuple[Picture, ...]) -> bytes:
    """The frames at the rate at which they were taken; H.264 wants even sides, so an odd row or column is left out."""
    span = pictures[-1].time_seconds - pictures[0].time_seconds
    fps = max(1, round((len(pictures) - 1) / span)) if span > 0 else 1
    height, width = (side - side % 2 for side in pictures[0].pixels.shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.mp4"
        write_video(path, (picture.pixels[:height, :width] for picture in pictures), fps)
        return path.read_bytes()


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
