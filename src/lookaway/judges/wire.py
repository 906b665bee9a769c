"""A question in the words of the OpenAI protocol."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

from lookaway.core import JudgeRequest, Picture
from lookaway.core.judging import Media
from lookaway.io.encoding import write_video
from lookaway.io.picture_files import jpeg_bytes, png_bytes
from lookaway.judges.layout import Part, Turn, turns


def completion_fields(request: JudgeRequest) -> dict[str, Any]:
    """Everything that a chat completion is asked with, pictures included."""
    sampling = request.judge.sampling
    fields: dict[str, Any] = {
        "model": request.judge.model,
        "messages": [_message(turn, request.judge.media) for turn in turns(request)],
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
    """The frames at the rate at which they were taken; H.264 wants even sides, so an odd row or column is left out."""
    span = pictures[-1].time_seconds - pictures[0].time_seconds
    fps = max(1, round((len(pictures) - 1) / span)) if span > 0 else 1
    height, width = (side - side % 2 for side in pictures[0].pixels.shape[:2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.mp4"
        write_video(path, (picture.pixels[:height, :width] for picture in pictures), fps)
        return path.read_bytes()


def _data_url(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
