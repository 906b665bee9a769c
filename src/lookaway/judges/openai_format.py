"""A request in the format of the OpenAI chat completions API."""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lookaway.core import JudgeRequest, Picture
from lookaway.core.judging import Media
from lookaway.io.encoding import write_video
from lookaway.io.pictures import jpeg_bytes, png_bytes

Part: TypeAlias = str | tuple[Picture, ...]
"""Text, or pictures that are sent as one part: a single frame, or all frames of a video."""
Turn: TypeAlias = tuple[Literal["system", "user", "assistant"], tuple[Part, ...]]

MAX_ENCODED_BYTES = 128 * 2**20
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


class EncodedPictures:
    """Encoded pictures, each made once for all questions about it; the oldest are dropped above a total size."""

    def __init__(self, max_bytes: int = MAX_ENCODED_BYTES) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._made: OrderedDict[tuple[object, ...], Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def data_url(self, pictures: tuple[Picture, ...], media: Media) -> str:
        """A single picture, or all pictures as a video."""
        times = [picture.time_seconds for picture in pictures] if media == "video" else ()
        return self._get((media, *times, *(picture.sha256 for picture in pictures)), lambda: _encode(pictures, media))

    def _get(self, key: tuple[object, ...], make: Callable[[], str]) -> str:
        with self._lock:
            is_new = key not in self._made
            future = self._made.setdefault(key, Future())
        if is_new:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
                with self._lock:
                    self._made.pop(key)
                raise
            with self._lock:
                self._bytes += len(future.result())
                self._shrink()
        return future.result()

    def _shrink(self) -> None:
        """Drop what was made first; what is still being made is at the end."""
        while self._bytes > self._max_bytes and (oldest := next(iter(self._made.values()))).done():
            self._bytes -= len(oldest.result())
            self._made.popitem(last=False)


def completion_fields(request: JudgeRequest, encoded: EncodedPictures | None = None) -> dict[str, Any]:
    """All fields of a chat completion request, pictures included."""
    sampling, encoded = request.judge.sampling, encoded or EncodedPictures()
    fields: dict[str, Any] = {
        "model": request.judge.model,
        "messages": [_message(turn, request.judge.media, encoded) for turn in turns(request)],
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


def _message(turn: Turn, media: Media, encoded: EncodedPictures) -> dict[str, Any]:
    role, parts = turn
    if role == "user":
        return {"role": role, "content": [_content(part, media, encoded) for part in parts]}
    return {"role": role, "content": "".join(part for part in parts if isinstance(part, str))}


def _content(part: Part, media: Media, encoded: EncodedPictures) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = "video_url" if media == "video" else "image_url"
    return {"type": kind, kind: {"url": encoded.data_url(part, media)}}


def _encode(pictures: tuple[Picture, ...], media: Media) -> str:
    if media == "video":
        return _data_url("video/mp4", _video(pictures))
    return _data_url(f"image/{media}", (png_bytes if media == "png" else jpeg_bytes)(pictures[0].pixels))


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
