"""Writes small videos, whole and broken, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

CLOCK = Fraction(1, 90_000)
LOSSLESS = {"codec": "libx264rgb", "pixel_format": "rgb24", "options": {"qp": "0"}}
"""Settings under which RGB goes in and the same RGB comes out."""


def write_clip(
    path: Path,
    frames: Iterable[Picture],
    *,
    fps: int = 16,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    times: Sequence[float] | None = None,
    options: Mapping[str, str] | None = None,
    container: Mapping[str, str] | None = None,
    colour: Mapping[str, int] | None = None,
) -> Path:
    """Encode RGB frames; `times` are seconds, for a frame rate that varies.

    `options` go to the encoder, `container` to the muxer, `colour` (`colorspace`, `color_range`) to both the
    conversion from RGB and the tags of the file.
    """
    colour = colour or {}
    with av.open(path, "w", options=dict(container or {})) as file:
        stream = None
        for index, pixels in enumerate(frames):
            if stream is None:
                stream = file.add_stream(codec, rate=fps, options=dict(options or {}))
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt = pixel_format
                for name, value in colour.items():
                    setattr(stream.codec_context, name, value)
                if times is not None:
                    stream.time_base = stream.codec_context.time_base = CLOCK
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            if pixel_format != "rgb24":
                picture = picture.reformat(
                    format=pixel_format,
                    interpolation="BICUBIC",
                    dst_colorspace=colour.get("colorspace"),
                    dst_color_range=colour.get("color_range"),
                )
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
