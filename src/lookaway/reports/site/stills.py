"""Filmstrips: eight frames of every video, inlined in the page, or why a video cannot be shown."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from lookaway.core import FrameRequest, Pixels, Reason, Timeline, Unmeasurable
from lookaway.io.video import Video

FRAMES: Final = 8
WIDTH: Final = 192
"""Size of one frame; a smaller video is not enlarged."""
MAX_BYTES: Final = 40_000
QUALITIES: Final = (80, 70, 55, 40, 25)
"""Tried in turn, until the strip is small enough."""


def strip_frames(count: int) -> list[int]:
    """The frames on the strip of a video of so many frames, from the first to the last.

    >>> strip_frames(81)
    [0, 11, 23, 34, 46, 57, 69, 80]
    >>> strip_frames(2)
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    return [int(part + 0.5) for part in np.linspace(0, count - 1, FRAMES)]


def filmstrip(video: Video) -> bytes:
    """The strip as JPEG, which is ten times as fast as WebP.

    A `VideoError` where the video cannot be decoded as far as its last frame.
    """
    timeline = video.timeline
    shown = strip_frames(timeline.frame_count)
    height = max(1, round(timeline.height * min(1.0, WIDTH / timeline.width)))
    request = FrameRequest(indices=frozenset(shown), height=height)
    pictures = {frame.index: frame.pixels for _, frame in video.frames([request])}
    return _encoded([pictures[index] for index in shown])


def _encoded(pictures: Sequence[Pixels]) -> bytes:
    import cv2  # takes a moment to import, and not every command needs it

    strip = np.ascontiguousarray(np.hstack(pictures)[..., ::-1])
    while True:
        for quality in QUALITIES:
            done, encoded = cv2.imencode(
                ".jpg", strip, [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_OPTIMIZE, 1]
            )
            if not done:
                raise ValueError(f"a strip of {strip.shape} cannot be written as JPEG.")
            if len(encoded) <= MAX_BYTES:
                return encoded.tobytes()
        half = (strip.shape[1] // 2, max(1, strip.shape[0] // 2))
        strip = np.asarray(cv2.resize(strip, half, interpolation=cv2.INTER_AREA), np.uint8)


def data_uri(content: bytes, kind: str) -> str:
    """Content as a data URI.

    >>> data_uri(b"a,b", "text/csv")
    'data:text/csv;base64,YSxi'
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


THREADS: Final = 2
USUAL_FRAME_SECONDS: Final = 0.04
"""How long the frame of a video with one frame is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """A video that a page shows as a strip of frames."""

    strip: str
    """Eight of its frames: a path relative to the root of the site, or a data URI."""
    times: tuple[float, ...]
    """When each frame begins, and when the last one ends."""
    width: int
    height: int

    @property
    def frame_count(self) -> int:
        """Frames of the original."""
        return len(self.times) - 1

    @property
    def seconds(self) -> float:
        """When the last frame ends."""
        return self.times[-1]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Why a video cannot be shown."""

    reason: Reason
    message: str


ShownVideo: TypeAlias = Still | Placeholder


@dataclass(frozen=True, slots=True)
class Stills:
    """Videos as filmstrips inlined in a page."""

    _known: dict[Path, ShownVideo] = field(default_factory=dict, init=False)

    def prepare(self, videos: Iterable[Path]) -> None:
        """Read many videos in parallel: decoding releases the GIL."""
        unknown = [video for video in dict.fromkeys(videos) if video not in self._known]
        with ThreadPoolExecutor(THREADS) as pool:
            self._known.update(zip(unknown, pool.map(self._shown, unknown), strict=True))

    def show(self, video: Path) -> ShownVideo:
        """The video as pages show it; a placeholder says why one cannot be read."""
        if video not in self._known:
            self._known[video] = self._shown(video)
        return self._known[video]

    def _shown(self, path: Path) -> ShownVideo:
        try:
            with Video(path) as video:
                return self.store(path, video, filmstrip(video))
        except Unmeasurable as error:
            return Placeholder(error.reason, str(error))
        except OSError as error:
            return Placeholder(Reason.MISSING_VIDEO, f"{path.name}: cannot be read: {error.strerror}.")

    def store(self, path: Path, video: Video, strip: bytes) -> Still:
        """A readable video and its strip in JPEG, as the page uses them."""
        timeline = video.timeline
        return Still(
            strip=data_uri(strip, "image/jpeg"),
            times=frame_times(timeline),
            width=timeline.width,
            height=timeline.height,
        )


def frame_times(timeline: Timeline) -> tuple[float, ...]:
    """When each frame begins, and when the last one ends; it lasts as long as frames do on average."""
    starts = timeline.times_seconds - timeline.times_seconds[0]
    last = 1 / timeline.fps if timeline.fps else USUAL_FRAME_SECONDS
    return tuple(round(float(time), 5) for time in (*starts, starts[-1] + last))
