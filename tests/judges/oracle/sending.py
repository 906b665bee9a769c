"""Sends requests to an oracle as any client would: over HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np
from pydantic import Field

from lookaway.core import Frame, Json, JudgeModel, Picture, Pixels, Rollout
from lookaway.io.video import Video
from lookaway.judges.judge_feature import SYSTEM, JudgeFeature
from lookaway.judges.openai_format import completion_fields
from lookaway.judges.oracle import KnownClip, OracleServer
from lookaway.judges.question import Answer
from lookaway.judges.reply import Reply, read_reply

WORDS = "Is the number even?"
SHOWN = (0, 2, 4, 6, 9, 11, 13, 15)


class Parity(Answer):
    """What is said about a number."""

    even: bool
    last_digit: Annotated[int, Field(ge=0, le=9)]


@dataclass(frozen=True)
class Got:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def reply(self) -> Reply:
        return read_reply(self.json)

    @property
    def answer(self) -> Json:
        return json.loads(self.reply.text)


def parity(clip: KnownClip | None, material: Mapping[str, Json], frames: tuple[int, ...]) -> Answer:
    """Answers from the material alone."""
    number = material["number"]
    return Parity(even=number % 2 == 0, last_digit=number % 10)


def is_even(clip: KnownClip | None, material: Mapping[str, Json], frames: tuple[int, ...]) -> bool:
    """Yes or no."""
    return bool(material["number"] % 2 == 0)


def about(number: int, **changes: Any) -> dict[str, Json]:
    """A request without pictures."""
    material = f'<material name="number">\n{number}\n</material>'
    parts = [{"type": "text", "text": WORDS}, {"type": "text", "text": material}]
    messages = [{"role": "system", "content": "Rules."}, {"role": "user", "content": parts}]
    return {"model": "asked", "messages": messages, "temperature": 0.0, "seed": 0, **changes}


def connect(server: OracleServer, seconds: float = 20.0) -> http.client.HTTPConnection:
    """A connection that stays open."""
    return http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=seconds)


def send(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Got:
    """One request on it."""
    connection.request(method, path, body, dict(headers or {}))
    response = connection.getresponse()
    return Got(response.status, dict(response.getheaders()), response.read())


def put(server: OracleServer, fields: Json, headers: Mapping[str, str] | None = None) -> Got:
    """One question on a connection of its own."""
    connection = connect(server)
    try:
        return send(connection, "POST", "/v1/chat/completions", json.dumps(fields).encode(), headers)
    finally:
        connection.close()


def pictures(rollout: Rollout, frames: Sequence[int] = SHOWN, height: int | None = None) -> tuple[Picture, ...]:
    """Frames of a video, at another size where one is asked for."""
    every = _decoded(rollout.video)
    return tuple(Picture(index, every[index].time_seconds, _scaled(every[index].pixels, height)) for index in frames)


@cache
def _decoded(video: Path) -> list[Frame]:
    with Video(video) as opened:
        return [frame for window in opened.windows(1) for frame in window]


def _scaled(pixels: Pixels, height: int | None) -> Pixels:
    import cv2

    if height is None:
        return pixels
    size = (2 * round(pixels.shape[1] * height / pixels.shape[0] / 2), height)
    kind = cv2.INTER_AREA if height < pixels.shape[0] else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, size, interpolation=kind), np.uint8)


def ask(
    server: OracleServer, recipe: JudgeFeature, rollout: Rollout, shown: tuple[Picture, ...], **judge: Any
) -> list[Any]:
    """What the oracle says to all questions of a recipe, as the recipe reads it."""
    model = JudgeModel(**{"model": "asked", **judge})
    said = []
    for question in recipe.questions(rollout):
        got = put(server, completion_fields(question.request(SYSTEM, model, shown, 0)))
        assert got.status == 200, got.body
        said.append(question.read(got.reply))
    return said
