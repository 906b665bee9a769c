"""Encodes pictures into a file, whole or not at all, and the same way every time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import av
from av.codec.context import Flags

from lookaway.io.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How pictures are kept."""

    container: str
    codec: str
    fps: int
    options: Mapping[str, str]
    """Of the encoder."""
    colour: Mapping[str, int] = field(default_factory=dict)
    """Tags: `colorspace`, `color_range`, `color_primaries`, `color_trc`."""
    metadata: Mapping[str, str] = field(default_factory=dict)


def write_pictures(path: Path, pictures: Iterable[av.VideoFrame], encoding: Encoding) -> None:
    """Write pictures of one size and pixel format; none at all is a ValueError."""
    write_whole(path, lambda file: _encode(file, pictures, encoding))


def _encode(file: BinaryIO, pictures: Iterable[av.VideoFrame], encoding: Encoding) -> None:
    stream: av.VideoStream | None = None
    with av.open(file, "w", format=encoding.container, options={"fflags": "+bitexact"}) as container:
        for index, picture in enumerate(pictures):
            if stream is None:
                stream = _add_stream(container, picture, encoding)
            picture.pts, picture.time_base = index, Fraction(1, encoding.fps)
            container.mux(stream.encode(picture))
        if stream is None:
            raise ValueError("there are no pictures to write; give at least one.")
        container.mux(stream.encode(None))


def _add_stream(container: av.container.OutputContainer, picture: av.VideoFrame, encoding: Encoding) -> av.VideoStream:
    stream = container.add_stream(encoding.codec, rate=encoding.fps, options=dict(encoding.options))
    if not isinstance(stream, av.VideoStream):
        raise ValueError(f"{encoding.codec} does not encode pictures.")
    container.metadata.update(encoding.metadata)
    context = stream.codec_context
    context.width, context.height, context.pix_fmt = picture.width, picture.height, picture.format.name
    context.thread_count = 1  # the bytes depend on the number of threads
    context.flags |= Flags.bitexact
    for name, value in encoding.colour.items():
        setattr(context, name, value)
    return stream
