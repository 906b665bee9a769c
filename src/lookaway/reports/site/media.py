"""The videos and pictures of a site: each once, under the hash of its content, in a form that browsers show."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import FrameRequest, Pixels
from lookaway.io.content_hash import content_hash
from lookaway.io.encoding import write_video
from lookaway.io.files import write_whole
from lookaway.io.video import Video
from lookaway.reports.site.playable import is_playable
from lookaway.reports.site.stills import Still, Stills, frame_times

ASSETS: Final = "assets"
NAME_CHARACTERS: Final = 20
MOST_PROXY_HEIGHT: Final = 480
MOST_PROXY_FPS: Final = 60
SLACK_FPS: Final = 0.05
"""Times of frames are rounded to ticks: 24 frames a second may look like 24.04."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip(Still):
    """A video that a page can play."""

    href: str
    """From the root of the site."""
    is_proxy: bool
    """Whether it was encoded anew, because browsers would not play the original."""
    sha256: str
    """Of the content of the original, as the project hashes files."""


@dataclass(frozen=True, slots=True)
class Media(Stills):
    """The `assets` of one site: strips are files there, and every video can be played."""

    output: Path

    def kept(self, path: Path, video: Video, strip: bytes) -> Clip:
        """Keep the strip, and the video or what is played in its place."""
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
            strip=self.picture(strip),
            times=frame_times(timeline),
            width=timeline.width,
            height=timeline.height,
            is_proxy=is_proxy,
            sha256=sha256,
        )

    def picture(self, encoded: bytes) -> str:
        """Keep a picture in JPEG; its place from the root of the site."""
        name = f"{hashlib.sha256(encoded).hexdigest()[:NAME_CHARACTERS]}.jpg"
        target = self.output / ASSETS / name
        if not target.is_file():
            write_whole(target, lambda file: file.write(encoded))
        return f"{ASSETS}/{name}"


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
