"""Reads frames of a video in one pass, each requested frame once, scaled and converted to upright RGB."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from lookaway.core import Frame, FrameRequest, Json, Pixels, Reason, Timeline
from lookaway.io.array_frames import ArrayFrames
from lookaway.io.decoding import Decoder
from lookaway.io.picture_folder import PictureFolder
from lookaway.io.pictures import ENLARGE, SHRINK, orientation, to_rgb

KEPT_BYTES = 512 * 1024 * 1024
"""Cache of decoded pictures for later passes: about 900 of 480p."""


def decoder_identity() -> dict[str, Json]:
    """The decoder and its settings, part of every lock."""
    libraries = {name: list(av.library_versions[name]) for name in ("libavcodec", "libavformat", "libswscale")}
    return {
        "pyav": av.__version__,
        **libraries,
        "colour": "as tagged, BT.601 limited range where untagged",
        "chroma": "interpolated for every pixel",
        "shrink": SHRINK.name,
        "enlarge": ENLARGE.name,
    }


def ffmpeg_version() -> str:
    """The version of FFmpeg that decodes."""
    return str(av.ffmpeg_version_info)


class Video:
    """A video file, a folder of numbered pictures, or frames in memory. Use as a context manager.

    Index and time of every frame are known before the second one is decoded, even at a variable frame rate.
    Sizes are those of the stored pixels, upright; the pixel aspect ratio is not applied.

    >>> with Video("no_such.mp4") as video:
    ...     video.timeline.frame_count
    Traceback (most recent call last):
    ...
    lookaway.core.errors.VideoError: no_such.mp4: there is no such file.
    """

    def __init__(self, source: Path | str | ArrayFrames) -> None:
        self._decoder = source if isinstance(source, ArrayFrames) else _decoder(Path(source))
        first = self._decoder.first_picture
        turned = orientation(first)
        if turned is None:
            raise self._decoder.error(
                Reason.UNDECODABLE,
                "its display matrix is neither a reflection nor a rotation by a multiple of 90 degrees.",
            )
        self._orientation = turned
        self._stored_size = (first.width, first.height)
        self._kept: list[av.VideoFrame] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._decoder.close()
        self._kept = None

    @property
    def timeline(self) -> Timeline:
        """Time of every frame, and the upright size."""
        width, height = self._stored_size[:: -1 if self._orientation.is_transposed else 1]
        return Timeline(times_seconds=self._decoder.index.times_seconds, width=width, height=height)

    @property
    def decoded_pictures(self) -> int:
        """Number of pictures decoded so far in all passes, requested or not."""
        return self._decoder.decoded_pictures

    def frames(self, requests: Sequence[FrameRequest], *, keep: bool = False) -> Iterator[tuple[int, Frame]]:
        """Every requested frame with the position of its request, in order of frames, in one pass.

        With `keep`, decoded pictures are cached for later passes, unless they take too much memory.
        """
        wanted = sorted(frozenset().union(*(request.indices for request in requests)))
        count = self.timeline.frame_count
        if wanted and not 0 <= wanted[0] <= wanted[-1] < count:
            raise IndexError(f"frames {wanted[0]} to {wanted[-1]} were requested from a video of {count} frames.")
        if any(request.height is not None and request.height < 1 for request in requests):
            raise ValueError("the height of a frame is at least 1.")
        return self._frames(requests, wanted, keep)

    def windows(self, frames: int, *, step: int | None = None, height: int | None = None) -> Iterator[list[Frame]]:
        """Consecutive windows that cover all frames, the last one shorter; one window is in memory at a time."""
        step = frames if step is None else step
        if not 1 <= step <= frames:
            raise ValueError(f"windows of {frames} frames with step {step} do not cover a video.")
        every = FrameRequest(indices=frozenset(range(self.timeline.frame_count)), height=height)
        return _windows(self.frames([every]), frames, step)

    def _frames(
        self, requests: Sequence[FrameRequest], wanted: Sequence[int], keep: bool
    ) -> Iterator[tuple[int, Frame]]:
        scalers: dict[int | None, VideoReformatter] = defaultdict(VideoReformatter)
        for index, picture in self._pictures(wanted, keep):
            time = float(self._decoder.index.times_seconds[index])
            by_height: dict[int | None, Pixels] = {}
            for position, request in enumerate(requests):
                if index not in request.indices:
                    continue
                height = request.height
                if height not in by_height:
                    by_height[height] = self._to_pixels(scalers[height], picture, height)
                yield position, Frame(index=index, time_seconds=time, pixels=by_height[height])

    def _pictures(self, wanted: Sequence[int], keep: bool) -> Iterator[tuple[int, av.VideoFrame]]:
        if self._kept is not None:
            yield from ((index, self._kept[index]) for index in wanted)
        elif keep and self._fits_into_memory():
            asked, kept = frozenset(wanted), []
            for index, picture in self._decoder.pictures(range(self.timeline.frame_count)):
                kept.append(picture)
                if index in asked:
                    yield index, picture
            self._kept = kept
        else:
            yield from self._decoder.pictures(wanted)

    def _fits_into_memory(self) -> bool:
        size = sum(plane.buffer_size for plane in self._decoder.first_picture.planes)
        return size * self.timeline.frame_count <= KEPT_BYTES

    def _to_pixels(self, scaler: VideoReformatter, picture: av.VideoFrame, height: int | None) -> Pixels:
        width, stored_height = self._stored_size
        if height is not None:
            scale = height / (width if self._orientation.is_transposed else stored_height)
            width, stored_height = max(1, round(width * scale)), max(1, round(stored_height * scale))
        stored = to_rgb(scaler, picture, width, stored_height)
        if stored is None:
            raise self._decoder.error(
                Reason.UNDECODABLE, "its pictures are partly transparent; add a background and encode them again."
            )
        pixels = np.ascontiguousarray(self._orientation.upright(stored))
        pixels.flags.writeable = False
        return pixels


def _decoder(path: Path) -> PictureFolder | Decoder:
    return PictureFolder(path) if path.is_dir() else Decoder(path)


def probe(path: Path | str) -> Timeline:
    """Time of every frame, and the upright size, decoding no more than the first frame."""
    with Video(path) as video:
        return video.timeline


def _windows(frames: Iterator[tuple[int, Frame]], length: int, step: int) -> Iterator[list[Frame]]:
    window: list[Frame] = []
    unseen = 0
    for _, frame in frames:
        window.append(frame)
        unseen += 1
        if len(window) == length:
            yield list(window)
            del window[:step]
            unseen = 0
    if unseen:
        yield window
