"""Writes videos of RGB frames with fixed settings: the same frames always decode to the same pixels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import av
import numpy as np
from av.codec.context import Flags
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc, Interpolation, VideoReformatter

from lookaway.core import Pixels, Reason, VideoError
from lookaway.io.files import write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """Codec and container settings."""

    container: str
    codec: str
    fps: int | Fraction
    options: Mapping[str, str]
    """Options of the encoder."""
    colour: Mapping[str, int] = field(default_factory=dict)
    """Tags: `colorspace`, `color_range`, `color_primaries`, `color_trc`."""
    metadata: Mapping[str, str] = field(default_factory=dict)


def write_pictures(path: Path, pictures: Iterable[av.VideoFrame], encoding: Encoding) -> None:
    """Write pictures of one size and pixel format, at least one."""
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


KEYFRAME_EVERY: Final = 24
BT709: Final = {
    "colorspace": int(Colorspace.ITU709),
    "color_range": int(ColorRange.MPEG),
    "color_primaries": int(ColorPrimaries.BT709),
    "color_trc": int(ColorTrc.BT709),
}
# Without `cpu-independent`, what other code left in memory makes x264 encode the same frames in another way each time.
X264: Final = f"keyint={KEYFRAME_EVERY}:min-keyint={KEYFRAME_EVERY}:scenecut=0:open-gop=0:threads=1:cpu-independent=1"
EXACT: Final = (
    Interpolation.BICUBIC
    | Interpolation.ACCURATE_RND
    | Interpolation.FULL_CHR_H_INT
    | Interpolation.FULL_CHR_H_INP
    | Interpolation.BITEXACT
)


DEFAULT_CRF: Final = 12


def write_video(
    path: Path, frames: Iterable[Pixels], fps: int | Fraction, *, crf: int = DEFAULT_CRF, lossless: bool = False
) -> None:
    """Write frames, [height, width, 3] with even sides, as H.264 in MP4, atomically.

    `crf` is x264's constant rate factor: more is worse, and 51 is worst.
    Chroma is stored at half the resolution, which affects saturated textures more than the rest of the encoding. A
    lossless video keeps every pixel, is about five times as large, and does not play everywhere.
    """
    if lossless:
        options = {"qp": "0", "preset": "medium", "x264-params": X264}
        encoding = Encoding(container="mp4", codec="libx264rgb", fps=fps, options=options)
        write_pictures(path, (_picture(frame) for frame in _checked(frames)), encoding)
    else:
        options = {"crf": str(crf), "preset": "medium", "x264-params": X264}
        encoding = Encoding(container="mp4", codec="libx264", fps=fps, options=options, colour=BT709)
        write_pictures(path, _limited(_checked(frames)), encoding)


def _checked(frames: Iterable[Pixels]) -> Iterator[Pixels]:
    shape: tuple[int, ...] | None = None
    for index, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError(f"frame {index} is {frame.dtype} {frame.shape}, expected uint8 [height, width, 3].")
        if 0 in frame.shape or frame.shape[0] % 2 or frame.shape[1] % 2:
            raise ValueError(
                f"frame {index} is {frame.shape[0]}x{frame.shape[1]}, expected even sides; crop or pad it."
            )
        if shape not in (None, frame.shape):
            raise ValueError(f"frame {index} has the shape {frame.shape}, but earlier ones {shape}.")
        shape = frame.shape
        yield frame


def _picture(frame: Pixels) -> av.VideoFrame:
    return av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")


def _limited(frames: Iterable[Pixels]) -> Iterator[av.VideoFrame]:
    scaler = VideoReformatter()
    for frame in frames:
        yield scaler.reformat(
            _picture(frame),
            format="yuv420p",
            interpolation=EXACT,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            dst_color_trc=ColorTrc.BT709,
            dst_color_primaries=ColorPrimaries.BT709,
            threads=1,  # with several, swscale loses a row between two of them now and then
        )


USUAL_RATE: Final = Fraction(24)
"""The rate of a file that names none."""


def write_beginning(path: Path, video: Path, count: int, *, crf: int) -> None:
    """Encode the first frames of a video anew, as `ffmpeg -i VIDEO -vframes COUNT -c:v libx264 -crf CRF` does.

    Pictures keep their pixel format, so that only the encoder changes them.
    """
    try:
        with av.open(str(video)) as container:
            rate = Fraction(container.streams.video[0].average_rate or USUAL_RATE)
            encoding = Encoding(
                container="mp4", codec="libx264", fps=rate, options={"crf": str(crf), "preset": "medium"}
            )
            write_pictures(path, islice(container.decode(video=0), count), encoding)
    except (av.FFmpegError, IndexError, ValueError) as error:
        raise VideoError(
            Reason.UNDECODABLE, f"{video.name}: its first frames cannot be encoded anew: {error}"
        ) from error
