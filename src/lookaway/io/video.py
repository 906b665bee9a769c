"""Decodes video: one sequential pass, every requested frame once, scaled while it is converted to RGB.

Frames are counted by reading the packets, which costs no decoding, so index and time of every frame
are known before the first one is decoded, also where the frame rate varies.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from lookaway.core import Frame, FrameRequest, Json, Pixels, Reason, Timeline, VideoError

# Playlists, image sequences and text art are demuxers too, and some of them open other files.
CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,ogg,gif,asf,nut,ivf,h264,hevc"
SEEK_PAYS_FRAMES = 24
"""A seek restarts the decoder; it pays only where it skips more frames than this."""
# Exact rounding makes frames equal on every processor, which matters more here than a few per cent of speed.
EXACT = Interpolation.ACCURATE_RND | Interpolation.BITEXACT
SHRINK, ENLARGE = Interpolation.AREA | EXACT, Interpolation.BICUBIC | EXACT


def decoder_identity() -> dict[str, Json]:
    """What turns bytes into frames here: part of every lock."""
    libraries = {name: list(av.library_versions[name]) for name in ("libavcodec", "libavformat", "libswscale")}
    return {
        "pyav": av.__version__,
        **libraries,
        "colour": "as tagged, BT.601 limited range where untagged",
        "shrink": "area",
        "enlarge": "bicubic",
    }


class Video:
    """An open video file. Use as a context manager.

    >>> with Video("no_such.mp4") as video:
    ...     video.timeline.frame_count
    Traceback (most recent call last):
    ...
    lookaway.core.errors.VideoError: no_such.mp4: there is no such file.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        _check_file(self._path)
        try:
            self._container = av.open(
                f"file:{self._path.absolute()}",
                options={"format_whitelist": CONTAINERS, "protocol_whitelist": "file"},
                metadata_errors="replace",
            )
        except (av.error.FFmpegError, ValueError) as error:
            raise self._unopened(error) from error
        try:
            self._stream = self._video_stream()
            self._index = self._read_packets()
            self._rotation = self._read_rotation()
        except BaseException:
            self._container.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._container.close()

    @property
    def timeline(self) -> Timeline:
        """Time of every frame, and the upright size."""
        width, height = self._stream.codec_context.width, self._stream.codec_context.height
        if self._rotation % 180:
            width, height = height, width
        return Timeline(times_seconds=self._index.times_seconds, width=width, height=height)

    def frames(self, requests: Sequence[FrameRequest]) -> Iterator[tuple[int, Frame]]:
        """Every requested frame with the position of its request, in order of frames, in one pass."""
        wanted = sorted(frozenset().union(*(request.indices for request in requests)))
        if wanted and not 0 <= wanted[0] <= wanted[-1] < len(self._index.pts):
            raise IndexError(f"{self._path}: frames {wanted[0]} to {wanted[-1]} of {len(self._index.pts)} asked for.")
        scaler = VideoReformatter()
        for index, picture in self._pictures(wanted):
            time = float(self._index.times_seconds[index])
            by_height: dict[int | None, Pixels] = {}
            for position, request in enumerate(requests):
                if index not in request.indices:
                    continue
                if request.height not in by_height:
                    by_height[request.height] = self._to_rgb(scaler, picture, request.height)
                yield position, Frame(index=index, time_seconds=time, pixels=by_height[request.height])

    def windows(self, frames: int, *, step: int | None = None, height: int | None = None) -> Iterator[list[Frame]]:
        """Consecutive windows of frames; no more than one window is in memory."""
        step = step or frames
        window: list[Frame] = []
        request = FrameRequest(indices=frozenset(range(self.timeline.frame_count)), height=height)
        for _, frame in self.frames([request]):
            window.append(frame)
            if len(window) == frames:
                yield list(window)
                del window[:step]
        if window and (len(window) > frames - step or self.timeline.frame_count < frames):
            yield window

    def _pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """Decoded but unconverted pictures of the wanted indices."""
        if not wanted:
            return
        remaining = iter(wanted)
        target = next(remaining, None)
        self._start_at(0)
        pictures, position = self._decode(), 0
        while target is not None:
            keyframe = self._index.keyframe_before(target)
            if keyframe > position + SEEK_PAYS_FRAMES:
                self._start_at(keyframe)
                pictures, position = self._decode(), keyframe
            for picture in pictures:
                index = self._index.of(picture.pts, position)
                position = index + 1
                if index == target:
                    yield index, picture
                    break
                if index > target:
                    raise self._error(Reason.UNDECODABLE, f"frame {target} is missing from the decoded frames.")
            else:
                raise self._error(
                    Reason.TRUNCATED,
                    f"decoding ended after frame {position - 1}, but the file lists {len(self._index.pts)} frames.",
                )
            target = next(remaining, None)

    def _start_at(self, index: int) -> None:
        self._container.seek(self._index.pts[index], stream=self._stream, backward=True)
        self._stream.codec_context.flush_buffers()

    def _decode(self) -> Iterator[av.VideoFrame]:
        try:
            for picture in self._container.decode(self._stream):
                if picture.is_corrupt:
                    raise self._error(Reason.UNDECODABLE, f"the picture at {picture.time} s is damaged.")
                yield picture
        except av.error.FFmpegError as error:
            raise self._error(Reason.UNDECODABLE, f"the decoder gave up: {error.strerror}.") from error

    def _to_rgb(self, scaler: VideoReformatter, picture: av.VideoFrame, height: int | None) -> Pixels:
        stored_width, stored_height = picture.width, picture.height
        if height is not None:
            upright = stored_width if self._rotation % 180 else stored_height
            scale = height / upright
            stored_width, stored_height = max(1, round(stored_width * scale)), max(1, round(stored_height * scale))
        interpolation = ENLARGE if stored_height > picture.height else SHRINK
        converted = scaler.reformat(
            picture, stored_width, stored_height, "rgb24", interpolation=interpolation, threads=1
        ).to_ndarray()
        pixels = np.ascontiguousarray(np.rot90(converted, self._rotation // 90))
        pixels.flags.writeable = False
        return pixels

    def _video_stream(self) -> av.VideoStream:
        streams = [stream for stream in self._container.streams.video if not _is_cover(stream)]
        if not streams:
            if self._container.streams.audio:
                raise self._error(Reason.AUDIO_ONLY, "the file holds sound but no pictures.")
            raise self._error(Reason.NO_FRAMES, "the file holds no video stream.")
        stream = streams[0]
        context = stream.codec_context
        if context is None:
            raise self._error(Reason.UNDECODABLE, "no decoder is installed for its codec.")
        context.thread_count = 1  # parallelism is over rollouts; threads inside a worker only fight each other
        return stream

    def _read_packets(self) -> _PacketIndex:
        expected = self._stream.frames
        try:
            packets = [
                (packet.pts, bool(packet.is_keyframe))
                for packet in self._container.demux(self._stream)
                if packet.size and not packet.is_discard
            ]
        except av.error.FFmpegError as error:
            raise self._error(Reason.TRUNCATED, f"the file ends early: {error.strerror}.") from error
        if not packets:
            raise self._error(Reason.NO_FRAMES, "the video stream holds no frame.")
        if expected and len(packets) < expected - self._discarded(expected, packets):
            raise self._error(
                Reason.TRUNCATED, f"the header lists {expected} frames, but the file holds only {len(packets)}."
            )
        context = self._stream.codec_context
        if not (context.width and context.height):
            raise self._error(Reason.ZERO_SIZE, f"the picture size is {context.width} x {context.height}.")
        return _PacketIndex.build(packets, self._stream)

    def _discarded(self, expected: int, packets: Sequence[tuple[int | None, bool]]) -> int:
        """Frames that an edit list hides: in the header, but never shown."""
        start = self._stream.start_time
        return sum(1 for pts, _ in packets if pts is not None and start is not None and pts < start)

    def _read_rotation(self) -> int:
        """Degrees, counter-clockwise, that bring the stored picture upright; known from the first picture."""
        self._start_at(0)
        first = next(self._decode(), None)
        if first is None:
            raise self._error(Reason.NO_FRAMES, "not one frame could be decoded.")
        if not (first.width and first.height):
            raise self._error(Reason.ZERO_SIZE, f"the picture size is {first.width} x {first.height}.")
        rotation = int(first.rotation) % 360
        if rotation % 90:
            raise self._error(Reason.UNDECODABLE, f"its display rotation of {rotation} degrees is not a right angle.")
        return rotation

    def _unopened(self, error: Exception) -> VideoError:
        with self._path.open("rb") as file:
            head = file.read(12)
        if head[4:8] == b"ftyp":
            return self._error(Reason.TRUNCATED, "an MP4 whose index (the moov box) is missing; it was cut off.")
        return self._error(
            Reason.NOT_A_VIDEO, f"not a video of a known container ({getattr(error, 'strerror', error)})."
        )

    def _error(self, reason: Reason, message: str) -> VideoError:
        return VideoError(reason, f"{self._path.name}: {message}")


def probe(path: Path | str) -> Timeline:
    """Time of every frame, and the upright size, decoding no more than the first frame."""
    with Video(path) as video:
        return video.timeline


@dataclass(frozen=True, slots=True)
class _PacketIndex:
    """Presentation times of all frames in order, and which frames a decoder can start from."""

    pts: list[int]
    keyframes: list[int]
    times_seconds: np.ndarray[tuple[int], np.dtype[np.float64]]
    positions: dict[int, int] | None
    """Index by presentation time; None where times are missing or repeat, so frames can only be counted."""

    @classmethod
    def build(cls, packets: Sequence[tuple[int | None, bool]], stream: av.VideoStream) -> _PacketIndex:
        known = [pts for pts, _ in packets if pts is not None]
        if len(known) == len(packets) and len(set(known)) == len(known):
            ordered = sorted(packets, key=lambda packet: packet[0] or 0)
            pts = sorted(known)
            times = np.array(pts, np.float64) * float(stream.time_base or 1)
            keyframes = [index for index, (_, is_keyframe) in enumerate(ordered) if is_keyframe]
            return cls(pts, keyframes or [0], times - times[0], {p: index for index, p in enumerate(pts)})
        rate = float(stream.average_rate or stream.guessed_rate or 25)
        return cls([0] * len(packets), [0], np.arange(len(packets)) / rate, None)

    def keyframe_before(self, index: int) -> int:
        return self.keyframes[max(0, bisect_right(self.keyframes, index) - 1)]

    def of(self, pts: int | None, counted: int) -> int:
        if self.positions is None or pts is None:
            return counted
        return self.positions.get(pts, counted)


def _check_file(path: Path) -> None:
    if not path.exists():
        raise VideoError(Reason.MISSING_VIDEO, f"{path.name}: there is no such file.")
    if not path.is_file():
        raise VideoError(Reason.NOT_A_VIDEO, f"{path.name}: not a regular file.")
    if path.stat().st_size == 0:
        raise VideoError(Reason.EMPTY_FILE, f"{path.name}: the file is empty.")


def _is_cover(stream: av.VideoStream) -> bool:
    """Sound files carry their cover as a video stream of one picture."""
    return bool(stream.disposition & av.stream.Disposition.attached_pic)
