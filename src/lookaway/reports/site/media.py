"""The videos and pictures of a site: each once, under the hash of its content, in a form that browsers show."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from lookaway.core import FrameRequest, Pixels, Reason, Timeline, Unmeasurable
from lookaway.io.content_hash import content_hash
from lookaway.io.encoding import write_video
from lookaway.io.files import write_whole
from lookaway.io.video import Video
from lookaway.reports.site.filmstrip import filmstrip
from lookaway.reports.site.playable import is_playable

ASSETS: Final = "assets"
THREADS: Final = 2
NAME_CHARACTERS: Final = 20
MOST_PROXY_HEIGHT: Final = 480
MOST_PROXY_FPS: Final = 60
USUAL_FRAME_SECONDS: Final = 0.04
"""How long a video of one frame is shown."""
SLACK_FPS: Final = 0.05
"""Times of frames are rounded to ticks: 24 frames a second may look like 24.04."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A video that a page can play."""

    href: str
    """From the root of the site."""
    strip: str
    """Eight of its frames, from the root of the site."""
    times: tuple[float, ...]
    """When each frame begins, and when the last one ends."""
    width: int
    height: int
    is_proxy: bool
    """Whether it was encoded anew, because browsers would not play the original."""
    sha256: str
    """Of the content of the original, as the project hashes files."""

    @property
    def frame_count(self) -> int:
        """Frames of the original."""
        return len(self.times) - 1

    @property
    def seconds(self) -> float:
        """Until the last frame ends."""
        return self.times[-1]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Why there is nothing to play."""

    reason: Reason
    message: str


Shown: TypeAlias = Clip | Placeholder


@dataclass(frozen=True, slots=True)
class Media:
    """The `assets` of one site."""

    output: Path
    _known: dict[Path, Shown] = field(default_factory=dict)

    def prepare(self, videos: Iterable[Path]) -> None:
        """Get many videos ready at once: decoding leaves Python free to do the next one."""
        unknown = [video for video in dict.fromkeys(videos) if video not in self._known]
        with ThreadPoolExecutor(THREADS) as pool:
            self._known.update(zip(unknown, pool.map(self._shown, unknown), strict=True))

    def show(self, video: Path) -> Shown:
        """The video as the site shows it; what cannot be read becomes a placeholder that says why."""
        if video not in self._known:
            self._known[video] = self._shown(video)
        return self._known[video]

    def _shown(self, path: Path) -> Shown:
        try:
            with Video(path) as video:
                strip = self.picture(filmstrip(video))
                return self._clip(path, video, strip)
        except Unmeasurable as error:
            return Placeholder(error.reason, str(error))
        except OSError as error:
            return Placeholder(Reason.MISSING_VIDEO, f"{path.name}: cannot be read: {error.strerror}.")

    def picture(self, encoded: bytes) -> str:
        """Keep a picture in JPEG; its place from the root of the site."""
        name = f"{hashlib.sha256(encoded).hexdigest()[:NAME_CHARACTERS]}.jpg"
        target = self.output / ASSETS / name
        if not target.is_file():
            write_whole(target, lambda file: file.write(encoded))
        return f"{ASSETS}/{name}"

    def _clip(self, path: Path, video: Video, strip: str) -> Clip:
        timeline, sha256 = video.timeline, content_hash(path)
        is_proxy = not is_playable(path)
        name = f"{sha256[:NAME_CHARACTERS]}{'-proxy' if is_proxy else ''}.mp4"
        target = self.output / ASSETS / name
        if not target.is_file():
            if is_proxy:
                _write_proxy(video, target)
            else:
                _link_or_copy(path, target)
        return Clip(
            href=f"{ASSETS}/{name}",
            strip=strip,
            times=frame_times(timeline),
            width=timeline.width,
            height=timeline.height,
            is_proxy=is_proxy,
            sha256=sha256,
        )


def frame_times(timeline: Timeline) -> tuple[float, ...]:
    """When each frame begins, and when the last one ends: as long after it began as frames last on average."""
    starts = timeline.times_seconds - timeline.times_seconds[0]
    last = 1 / timeline.fps if timeline.fps else USUAL_FRAME_SECONDS
    return tuple(round(float(time), 5) for time in (*starts, starts[-1] + last))


def _link_or_copy(source: Path, target: Path) -> None:
    """A hard link costs no space; a copy where the two lie on different disks, or links are refused."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except FileExistsError:
        return
    except OSError:
        with source.open("rb") as original:
            write_whole(target, lambda file: shutil.copyfileobj(original, file))


def _write_proxy(video: Video, target: Path) -> None:
    """Encode the video anew, with every frame as long on screen as in the original."""
    times = frame_times(video.timeline)
    shortest = min(end - start for start, end in pairwise(times))
    fps = max(1, min(MOST_PROXY_FPS, math.ceil(1 / max(shortest, 1e-3) - SLACK_FPS)))
    shown_at = (np.arange(max(1, round(times[-1] * fps))) + 0.5) / fps
    sources = np.clip(np.searchsorted(times, shown_at, side="right") - 1, 0, len(times) - 2)
    write_video(target, _repeated(video, np.bincount(sources, minlength=len(times) - 1)), fps)


def _repeated(video: Video, repeats: np.ndarray) -> Iterator[Pixels]:
    height = min(MOST_PROXY_HEIGHT, video.timeline.height)
    every = FrameRequest(indices=frozenset(range(len(repeats))), height=height)
    for _, frame in video.frames([every]):
        pixels = _with_even_sides(frame.pixels)
        for _ in range(int(repeats[frame.index])):
            yield pixels


def _with_even_sides(pixels: Pixels) -> Pixels:
    odd_rows, odd_columns = (side % 2 for side in pixels.shape[:2])
    return np.pad(pixels, ((0, odd_rows), (0, odd_columns), (0, 0)), mode="edge")
