"""Decodes the pictures of a video file in order, each once, or raises a typed error.

Damage is never concealed: whatever a decoder reports as damaged, and every picture missing between two others, is an
error. Damage that is still valid code goes unnoticed: PNG and HEVC with picture hashes reveal all damage, H.264 and
MPEG-4 most of it, HEVC without hashes, VP8, VP9, GIF and FFV1 little.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import PictureType

from lookaway.core import Floats, Indices, Reason, VideoError
from lookaway.io.containers import announced_seconds, identify
from lookaway.io.limits import MAX_ASPECT, MAX_PIXELS, MAX_SIDE_PIXELS

MAX_REORDERED = 16
"""Maximum number of later frames that a frame can depend on, in any codec."""


@dataclass(frozen=True, slots=True)
class PacketTime:
    """Presentation time of a packet's frame, in ticks of the time base, and whether decoding can start there."""

    ticks: int | None
    duration_ticks: int
    is_keyframe: bool

    @property
    def end_ticks(self) -> int:
        """Time at which the frame ends."""
        return (self.ticks or 0) + self.duration_ticks


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """Time of every frame in presentation order, and the frames from which decoding can start."""

    times_seconds: Floats
    ticks: tuple[int, ...]
    """Presentation times that identify frames; empty if they are missing or repeat, so that frames are counted."""
    keyframes: tuple[int, ...]
    trusted_after: Indices
    """Last frame to decode before a frame can be trusted: later ones that it depends on may be damaged."""

    @classmethod
    def of(
        cls, packets: Sequence[PacketTime], *, seconds_per_tick: float, fps: float, has_order: bool = True
    ) -> FrameIndex:
        """The index of all packets of a stream; without `has_order` their times are in storage order."""
        known = np.array([packet.ticks for packet in packets if packet.ticks is not None])
        count = len(packets)
        if len(np.unique(known)) < count:
            times, has_order = np.arange(count) / fps, False
        else:
            times = (np.sort(known).astype(np.float64) - known.min()) * seconds_per_tick
        if not has_order:
            return cls(times, (), (0,), np.minimum(np.arange(count) + MAX_REORDERED, count - 1))
        stored_at = np.argsort(known)
        shown_at = np.argsort(stored_at)
        is_keyframe = np.array([packet.is_keyframe for packet in packets])
        return cls(
            times_seconds=times,
            ticks=tuple(known[stored_at].tolist()),
            keyframes=tuple(np.flatnonzero(is_keyframe[stored_at]).tolist()),
            trusted_after=np.maximum.accumulate(shown_at)[stored_at],
        )

    def __len__(self) -> int:
        return len(self.times_seconds)

    def keyframe_before(self, index: int) -> int:
        """The last frame up to this one from which decoding can start; the first frame if there is none."""
        position = bisect_right(self.keyframes, index)
        return self.keyframes[position - 1] if position else 0


SEEK_PAYS_FRAMES = 24
"""A seek restarts the decoder; it pays off only if it skips more frames than this."""
USUAL_FPS = 25.0
"""Used if frames have neither times nor a rate."""
SECONDS_AMISS = 0.5
"""How much earlier than announced the frames of a complete file may end."""


class Decoder:
    """The pictures of one video file, unconverted. Nothing stays open between two passes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_closed = False
        self.decoded_pictures = 0
        """Number of pictures decoded so far in all passes, requested or not."""
        self._format = identify(path)
        with self._open() as container:
            self.index, self.first_picture = self._survey(container, self._video_stream(container))

    def close(self) -> None:
        """Stop every pass in progress."""
        self._is_closed = True

    def error(self, reason: Reason, message: str) -> VideoError:
        """A typed error about this file."""
        return VideoError(reason, f"{self._path.name}: {message}")

    def pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """The pictures of increasing indices, in one pass that seeks to keyframes if that saves work."""
        delivered = 0
        for may_seek in (True, False):
            try:
                for index, picture in self._one_pass(wanted[delivered:], may_seek):
                    delivered += 1
                    yield index, picture
                return
            except _Astray:
                continue

    def _one_pass(self, wanted: Sequence[int], may_seek: bool) -> Iterator[tuple[int, av.VideoFrame]]:
        if not wanted:
            return
        with self._open() as container:
            stream = self._video_stream(container)
            pictures, position = self._in_order(container, stream, 0), -1
            for target in wanted:
                keyframe = self.index.keyframe_before(target)
                if may_seek and keyframe > position + SEEK_PAYS_FRAMES:
                    pictures = self._from_keyframe(container, stream, keyframe)
                for position, picture in pictures:
                    if position == target:
                        yield position, picture
                        break
                else:
                    raise self.error(
                        Reason.TRUNCATED,
                        f"decoding ended after {position + 1} frames, but the file lists {len(self.index)}.",
                    )

    def _from_keyframe(
        self, container: InputContainer, stream: av.VideoStream, keyframe: int
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Pictures from a keyframe on; raises `_Astray` if decoding does not start with this keyframe."""
        has_started = False
        try:
            container.seek(self.index.ticks[keyframe], stream=stream)
            for index, picture in self._in_order(container, stream, keyframe):
                # Some files call every frame a keyframe; only what the decoder finds counts.
                if not has_started and not (picture.key_frame and picture.pict_type == PictureType.I):
                    break
                has_started = True
                yield index, picture
        except (av.error.FFmpegError, VideoError) as error:
            if has_started:
                raise
            raise _Astray from error
        if not has_started:
            raise _Astray

    def _in_order(
        self, container: InputContainer, stream: av.VideoStream, first: int
    ) -> Iterator[tuple[int, av.VideoFrame]]:
        """Pictures with their indices, none missing, each as soon as it can be trusted."""
        waiting: deque[tuple[int, av.VideoFrame]] = deque()
        for index, picture in enumerate(self._from(container, stream, first), first):
            self._check_picture(index, picture)
            waiting.append((index, picture))
            while waiting and self.index.trusted_after[waiting[0][0]] <= index:
                yield waiting.popleft()
        yield from waiting

    def _from(self, container: InputContainer, stream: av.VideoStream, first: int) -> Iterator[av.VideoFrame]:
        """Pictures without those before `first`, whose dependencies are missing."""
        for picture in self._decode(container, stream):
            if not self.index.ticks or picture.pts is None or picture.pts >= self.index.ticks[first]:
                yield picture

    def _check_picture(self, index: int, picture: av.VideoFrame) -> None:
        ticks, first = self.index.ticks, self.first_picture
        if ticks and (index == len(ticks) or picture.pts != ticks[index]):
            raise self.error(Reason.UNDECODABLE, f"frame {index} is missing from the decoded frames.")
        if picture.is_corrupt:
            raise self.error(Reason.UNDECODABLE, f"frame {index} is damaged.")
        if (picture.width, picture.height) != (first.width, first.height):
            raise self.error(
                Reason.UNDECODABLE, f"the picture size changes to {picture.width} x {picture.height} within the video."
            )

    def _decode(self, container: InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
        try:
            for packet in container.demux(stream):
                for picture in packet.decode():
                    if self._is_closed:
                        raise ValueError(f"{self._path.name}: the video is closed.")
                    self.decoded_pictures += 1
                    yield picture
        except av.error.FFmpegError as error:
            raise self.error(Reason.UNDECODABLE, f"the decoder failed: {error.strerror}.") from error

    @contextmanager
    def _open(self) -> Iterator[InputContainer]:
        """The file, opened anew for every pass, since not every container can be rewound."""
        try:
            container = av.open(
                f"file:{self._path.absolute()}",
                format=self._format,
                options={"protocol_whitelist": "file", "max_pixels": str(MAX_PIXELS)},
                metadata_errors="replace",
            )
        except av.error.EOFError as error:
            raise self.error(Reason.NO_FRAMES, "the file ends before its first frame.") from error
        except av.error.FFmpegError as error:
            raise self.error(Reason.UNDECODABLE, f"not a readable video: {error.strerror}.") from error
        with container:
            yield container

    def _video_stream(self, container: InputContainer) -> av.VideoStream:
        streams = [stream for stream in container.streams.video if not _is_cover(stream)]
        if not streams:
            if container.streams.audio:
                raise self.error(Reason.AUDIO_ONLY, "the file holds audio but no pictures.")
            raise self.error(Reason.NO_FRAMES, "the file holds no video stream.")
        context = streams[0].codec_context
        if context is None:
            raise self.error(Reason.UNDECODABLE, "no decoder is installed for its codec.")
        context.thread_count = 1  # parallelism is over rollouts; threads inside a worker only fight each other
        # Decoders that would paper over an error have to report it instead.
        context.options = {"err_detect": "crccheck+explode", "max_pixels": str(MAX_PIXELS)}
        return streams[0]

    def _survey(self, container: InputContainer, stream: av.VideoStream) -> tuple[FrameIndex, av.VideoFrame]:
        """Read all packets, and decode the first picture for its format."""
        packets, first = self._read_packets(container, stream)
        if not packets:
            raise self.error(Reason.NO_FRAMES, "the video stream holds no frame.")
        if first is None:
            raise self._without_size(stream) or self.error(Reason.NO_FRAMES, "no frame could be decoded.")
        self._check_size(first)
        seconds_per_tick = float(stream.time_base or 1)
        end = max(packet.end_ticks for packet in packets) * seconds_per_tick
        announced = announced_seconds(container, stream)
        if announced is not None and announced - end > SECONDS_AMISS:
            raise self.error(Reason.TRUNCATED, f"it announces {announced:.2f} s, but its frames end after {end:.2f} s.")
        index = FrameIndex.of(
            packets,
            seconds_per_tick=seconds_per_tick,
            fps=float(stream.average_rate or stream.guessed_rate or USUAL_FPS),
            has_order=self._format != "avi",  # AVI knows in which order frames are stored, not shown
        )
        return index, first

    def _read_packets(
        self, container: InputContainer, stream: av.VideoStream
    ) -> tuple[list[PacketTime], av.VideoFrame | None]:
        packets: list[PacketTime] = []
        first: av.VideoFrame | None = None
        try:
            for packet in container.demux(stream):
                if packet.is_corrupt:
                    raise self.error(Reason.UNDECODABLE, f"the data after {len(packets)} frames is damaged.")
                if packet.size and not packet.is_discard:
                    packets.append(PacketTime(packet.pts, packet.duration or 0, packet.is_keyframe))
                if first is None:
                    first = next(iter(packet.decode()), None)
        except av.error.FFmpegError as error:
            raise self._without_size(stream) or self.error(
                Reason.UNDECODABLE, f"reading stopped after {len(packets)} frames: {error.strerror}."
            ) from error
        return packets, first

    def _check_size(self, picture: av.VideoFrame) -> None:
        shorter, longer = sorted((picture.width, picture.height))
        if longer > MAX_SIDE_PIXELS or longer > MAX_ASPECT * shorter:
            raise self.error(
                Reason.UNDECODABLE,
                f"the picture size is {picture.width} x {picture.height}; sides of at most {MAX_SIDE_PIXELS} pixels "
                f"are read, the longer at most {MAX_ASPECT} times the shorter.",
            )

    def _without_size(self, stream: av.VideoStream) -> VideoError | None:
        width, height = stream.codec_context.width, stream.codec_context.height
        message = f"the picture size is {width} x {height}, expected 1 to {MAX_PIXELS} pixels."
        return None if width and height else self.error(Reason.ZERO_SIZE, message)


class _Astray(Exception):
    """A seek did not reach a picture from which decoding can start."""


def _is_cover(stream: av.VideoStream) -> bool:
    """Audio files carry their cover as a video stream of one picture."""
    return bool(stream.disposition & av.stream.Disposition.attached_pic)
