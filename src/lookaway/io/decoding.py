"""Finds and decodes the pictures of a video file, in order, each once, or says why it cannot.

A file is read as it should look or not at all. Whatever a decoder reports as damaged or conceals, and every picture
that is missing between two others, is an error. Damage that is valid code again goes unseen: PNG and HEVC with picture
hashes show all damage, H.264 and MPEG-4 most of it, HEVC without hashes, VP8, VP9, GIF and FFV1 little.
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

MAX_REORDERED = 16
"""No codec shows a frame earlier than this many frames that it is made from."""


@dataclass(frozen=True, slots=True)
class PacketTime:
    """When the frame in a packet is shown, in ticks of the stream's clock, and whether decoding can start with it."""

    ticks: int | None
    duration_ticks: int
    is_keyframe: bool

    @property
    def end_ticks(self) -> int:
        """When the frame is no longer shown."""
        return (self.ticks or 0) + self.duration_ticks


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """Time of every frame in the order in which they are shown, and which of them a decoder can start from."""

    times_seconds: Floats
    ticks: tuple[int, ...]
    """Presentation times that name each frame; empty where they are missing or repeat: then frames are counted."""
    keyframes: tuple[int, ...]
    trusted_after: Indices
    """Until which frame to decode before a frame can be trusted: later ones that it is made from may prove damaged."""

    @classmethod
    def of(
        cls, packets: Sequence[PacketTime], *, seconds_per_tick: float, fps: float, has_order: bool = True
    ) -> FrameIndex:
        """The index of all packets of a stream; without `has_order` their times say when they are stored, not shown."""
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
        """The last frame up to this one that a decoder can start from; the first frame where there is none."""
        position = bisect_right(self.keyframes, index)
        return self.keyframes[position - 1] if position else 0


SEEK_PAYS_FRAMES = 24
"""A seek restarts the decoder; it pays only where it skips more frames than this."""
MAX_PIXELS = 8192 * 8192
"""A header that claims a larger picture is damaged or hostile."""
USUAL_FPS = 25.0
"""Where the frames have neither times nor a rate."""
SECONDS_AMISS = 0.5
"""How much earlier than announced the frames of a whole file may end."""


class Decoder:
    """The pictures of one video file, unconverted. Nothing stays open between two passes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_closed = False
        self.decoded_pictures = 0
        """How many pictures all passes had to decode so far, asked for or not."""
        self._format = identify(path)
        with self._open() as container:
            self.index, self.first_picture = self._survey(container, self._video_stream(container))

    def close(self) -> None:
        """Stop every pass that is still under way."""
        self._is_closed = True

    def error(self, reason: Reason, message: str) -> VideoError:
        """A typed error about this file."""
        return VideoError(reason, f"{self._path.name}: {message}")

    def pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """The pictures of increasing indices, in one pass; keyframes in between are used where that saves work."""
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
        """Pictures from a keyframe on, or `_Astray` where decoding does not start with just this keyframe."""
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
        """Pictures with their indices, none missing, each as soon as nothing can be found wrong with it any more."""
        waiting: deque[tuple[int, av.VideoFrame]] = deque()
        for index, picture in enumerate(self._from(container, stream, first), first):
            self._check_picture(index, picture)
            waiting.append((index, picture))
            while waiting and self.index.trusted_after[waiting[0][0]] <= index:
                yield waiting.popleft()
        yield from waiting

    def _from(self, container: InputContainer, stream: av.VideoStream, first: int) -> Iterator[av.VideoFrame]:
        """Pictures without those shown before `first`, which lack what they were made from."""
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
                Reason.UNDECODABLE, f"the picture size changes to {picture.width} x {picture.height} on the way."
            )

    def _decode(self, container: InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
        try:
            for packet in container.demux(stream):
                for picture in packet.decode():
                    if self._is_closed:
                        raise ValueError(f"{self._path.name}: reading from a closed video.")
                    self.decoded_pictures += 1
                    yield picture
        except av.error.FFmpegError as error:
            raise self.error(Reason.UNDECODABLE, f"the decoder gave up: {error.strerror}.") from error

    @contextmanager
    def _open(self) -> Iterator[InputContainer]:
        """The file, opened anew for every pass: not every container can be wound back."""
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
            raise self.error(Reason.UNDECODABLE, f"it starts like a video, but is none: {error.strerror}.") from error
        with container:
            yield container

    def _video_stream(self, container: InputContainer) -> av.VideoStream:
        streams = [stream for stream in container.streams.video if not _is_cover(stream)]
        if not streams:
            if container.streams.audio:
                raise self.error(Reason.AUDIO_ONLY, "the file holds sound but no pictures.")
            raise self.error(Reason.NO_FRAMES, "the file holds no video stream.")
        context = streams[0].codec_context
        if context is None:
            raise self.error(Reason.UNDECODABLE, "no decoder is installed for its codec.")
        context.thread_count = 1  # parallelism is over rollouts; threads inside a worker only fight each other
        # Decoders that would paper over an error have to report it instead.
        context.options = {"err_detect": "crccheck+explode", "max_pixels": str(MAX_PIXELS)}
        return streams[0]

    def _survey(self, container: InputContainer, stream: av.VideoStream) -> tuple[FrameIndex, av.VideoFrame]:
        """Read all packets, and decode the first picture for what only a picture can tell."""
        packets, first = self._read_packets(container, stream)
        if not packets:
            raise self.error(Reason.NO_FRAMES, "the video stream holds no frame.")
        if first is None:
            raise self._without_size(stream) or self.error(Reason.NO_FRAMES, "not one frame could be decoded.")
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
                    raise self.error(Reason.UNDECODABLE, f"what follows {len(packets)} frames is damaged.")
                if packet.size and not packet.is_discard:
                    packets.append(PacketTime(packet.pts, packet.duration or 0, packet.is_keyframe))
                if first is None:
                    first = next(iter(packet.decode()), None)
        except av.error.FFmpegError as error:
            raise self._without_size(stream) or self.error(
                Reason.UNDECODABLE, f"reading stopped after {len(packets)} frames: {error.strerror}."
            ) from error
        return packets, first

    def _without_size(self, stream: av.VideoStream) -> VideoError | None:
        width, height = stream.codec_context.width, stream.codec_context.height
        message = f"the picture size is {width} x {height}, or beyond {MAX_PIXELS} pixels."
        return None if width and height else self.error(Reason.ZERO_SIZE, message)


class _Astray(Exception):
    """A seek did not lead to a picture that decoding can start from."""


def _is_cover(stream: av.VideoStream) -> bool:
    """Sound files carry their cover as a video stream of one picture."""
    return bool(stream.disposition & av.stream.Disposition.attached_pic)
