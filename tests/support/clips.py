"""Writes small videos, whole and odd, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.stream import Disposition
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

CLOCK = Fraction(1, 60_000)
LOSSLESS = {"codec": "libx264rgb", "pixel_format": "rgb24", "options": {"qp": "0"}}
"""Settings under which RGB goes in and the same RGB comes out."""
X265_ALONE = "pools=none:frame-threads=1:log-level=none"
"""Without the pool of threads that x265 makes for itself: once it waited for them for ever."""


def write_clip(
    path: Path,
    frames: Iterable[Picture | av.VideoFrame],
    *,
    fps: int = 16,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    times: Sequence[float] | None = None,
    options: Mapping[str, str] | None = None,
    container: Mapping[str, str] | None = None,
    colour: Mapping[str, int] | None = None,
    turn_degrees: int | None = None,
) -> Path:
    """Encode frames: [height, width, 3] of RGB, 4 of RGBA, or pictures that are already in the pixel format.

    `times` are seconds, for a frame rate that varies.

    `options` go to the encoder and `container` to the muxer; `colour` (`colorspace`, `color_range`) is what RGB is
    converted to and how the file is tagged. `turn_degrees` asks players to turn the picture, counter-clockwise.
    """
    colour = colour or {}
    before, picture, stream = None, None, None
    with av.open(path, "w", options=dict(container or {})) as file:
        for index, pixels in enumerate(frames):
            if pixels is not before:  # converting costs more than encoding a picture that stands still
                before, picture = pixels, _to_picture(pixels, pixel_format, colour)
            if stream is None:
                stream = file.add_stream(codec, rate=fps, options=dict(options or {}))
                stream.width, stream.height, stream.pix_fmt = picture.width, picture.height, pixel_format
                stream.codec_context.thread_count = 1  # one slice per picture on every machine
                for name, value in colour.items():
                    setattr(stream.codec_context, name, value)
                if turn_degrees is not None:
                    stream.set_display_rotation(turn_degrees)
                if times is not None:
                    stream.time_base = stream.codec_context.time_base = CLOCK
            picture.pts = index if times is None else round(times[index] / CLOCK)
            picture.time_base = Fraction(1, fps) if times is None else CLOCK
            file.mux(stream.encode(picture))
        if stream is not None:
            file.mux(stream.encode(None))
    return path


def numbered_frames(count: int, *, width: int = 64, height: int = 48, seed: int = 0) -> list[Picture]:
    """Frames with texture of which no two are alike: the picture wanders, and a bar counts."""
    texture = np.random.default_rng(seed).integers(0, 256, (height // 8 + 2, (width + count) // 8 + 2, 3), np.uint8)
    texture = texture.repeat(8, axis=0).repeat(8, axis=1)
    frames = []
    for index in range(count):
        frame = texture[:height, index : index + width].copy()
        frame[:4] = 0
        frame[:4, : 1 + index * (width - 1) // max(1, count - 1)] = 255
        frames.append(frame)
    return frames


def write_sound(path: Path, *, cover: Picture | None = None) -> Path:
    """Half a second of silence, with or without a cover picture."""
    with av.open(path, "w") as file:
        sound = file.add_stream("aac", rate=44_100)
        if cover is not None:
            picture = file.add_stream("mjpeg", rate=1)
            picture.height, picture.width = cover.shape[:2]
            picture.pix_fmt = "yuvj420p"
            picture.disposition = Disposition.attached_pic
            file.mux(picture.encode(av.VideoFrame.from_ndarray(cover, format="rgb24")))
            file.mux(picture.encode(None))
        for block in range(20):
            silence = av.AudioFrame.from_ndarray(np.zeros((2, 1024), np.float32), format="fltp", layout="stereo")
            silence.sample_rate, silence.pts = 44_100, block * 1024
            file.mux(sound.encode(silence))
        file.mux(sound.encode(None))
    return path


def write_without_frames(path: Path, *, codec: str = "mpeg4") -> Path:
    """A container with a video stream in which there is nothing."""
    with av.open(path, "w") as file:
        stream = file.add_stream(codec, rate=16)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        file.start_encoding()
    return path


def cut(path: Path, fraction: float) -> Path:
    """The first part of a file, as a broken copy leaves it."""
    data = path.read_bytes()
    target = path.with_name(f"cut_{fraction}_{path.name}")
    target.write_bytes(data[: int(len(data) * fraction)])
    return target


def blank_end(path: Path, fraction: float) -> Path:
    """The first part of a file and zeros, as a download leaves it that reserved its space and stopped."""
    data = path.read_bytes()
    kept = int(len(data) * fraction)
    target = path.with_name(f"blank_{fraction}_{path.name}")
    target.write_bytes(data[:kept] + bytes(len(data) - kept))
    return target


def with_display_matrix(path: Path, matrix: tuple[float, float, float, float]) -> Path:
    """An MP4 that asks to be shown with (p, q) at (a p + c q, b p + d q), for a matrix (a, b, c, d)."""
    data = bytearray(path.read_bytes())
    start = data.index(b"tkhd") + 44
    a, b, c, d = (round(entry * 65536) for entry in matrix)
    data[start : start + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    target = path.with_name(f"turned_{a}_{b}_{c}_{d}_{path.name}")
    target.write_bytes(data)
    return target


def with_edit(path: Path, *, skip_ticks: int, milliseconds: int) -> Path:
    """An MP4 whose edit list leaves out the beginning and shows only so much of the rest."""
    data = bytearray(path.read_bytes())
    start = data.index(b"elst") + 12
    _, media_time = struct.unpack(">Ii", data[start : start + 8])
    data[start : start + 8] = struct.pack(">Ii", milliseconds, media_time + skip_ticks)
    target = path.with_name(f"edited_{skip_ticks}_{milliseconds}_{path.name}")
    target.write_bytes(data)
    return target


def _to_picture(pixels: Picture | av.VideoFrame, pixel_format: str, colour: Mapping[str, int]) -> av.VideoFrame:
    if isinstance(pixels, av.VideoFrame):
        return pixels
    stored = "rgba" if pixels.shape[2] == 4 else "rgb24"
    picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format=stored)
    if pixel_format == stored:
        return picture
    return picture.reformat(
        format=pixel_format,
        interpolation="BICUBIC",
        dst_colorspace=colour.get("colorspace"),
        dst_color_range=colour.get("color_range"),
        threads=1,  # with several, swscale loses a row between two of them now and then
    )
