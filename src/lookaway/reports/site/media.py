"""The videos and images of a site: each once, named by the hash of its content, in a format that browsers play."""

from __future__ import annotations

import fcntl
import hashlib
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from lookaway.core import FrameRequest, Pixels
from lookaway.io.encoding import write_video
from lookaway.io.files import content_hash, write_whole
from lookaway.io.video import Video
from lookaway.reports.site.stills import Still, Stills, frame_times

TRACK_PATH: Final = (b"moov", b"trak")
CODEC_PATH: Final = (b"mdia", b"minf", b"stbl", b"stsd")
SAMPLE_ENTRIES_AFTER: Final = 8
"""Bytes of a sample description before its entries: version, flags, count."""
PICTURE_ENTRY_BYTES: Final = 78
"""Fixed fields of an entry for pictures before the boxes inside it."""
FOUR_TWO_ZERO: Final = frozenset({66, 77, 100})
"""H.264 Baseline, Main and High: eight bits, 4:2:0. Browsers need not play any other profile."""
MAX_INDEX_BYTES: Final = 64 * 1024 * 1024


def is_playable(path: Path) -> bool:
    """Whether it is an MP4 file whose one video track is H.264 with yuv420p."""
    if path.is_dir():
        return False
    with path.open("rb") as file:
        index = _index(file)
    if index is None:
        return False
    codecs = [codec for track in _inside(index, TRACK_PATH) for codec in _picture_codecs(track)]
    return len(codecs) == 1 and codecs[0] in FOUR_TWO_ZERO


def _picture_codecs(track: bytes) -> Iterator[int | None]:
    """The profile of every entry for pictures in a track; `None` where it is not H.264."""
    if not any(handler[8:12] == b"vide" for handler in _inside(track, (b"mdia", b"hdlr"))):
        return
    for description in _inside(track, CODEC_PATH):
        for kind, entry in _boxes(description[SAMPLE_ENTRIES_AFTER:]):
            settings = [box for name, box in _boxes(entry[PICTURE_ENTRY_BYTES:]) if name == b"avcC"]
            yield settings[0][1] if kind == b"avc1" and settings and len(settings[0]) > 1 else None


def _index(file: BinaryIO) -> bytes | None:
    """The `moov` box with its header; `None` where the file is not MP4."""
    is_mp4 = False
    while len(head := file.read(8)) == 8:
        length, kind, used = int.from_bytes(head[:4], "big"), head[4:], 8
        if length == 1:
            length, used = int.from_bytes(file.read(8), "big"), 16
        is_mp4 = is_mp4 or kind == b"ftyp"
        if kind == b"moov" and is_mp4 and used <= length <= MAX_INDEX_BYTES:
            return head + file.read(length - used)
        if length < used or not is_mp4:
            return None
        file.seek(length - used, 1)
    return None


def _inside(data: bytes, path: tuple[bytes, ...]) -> Iterator[bytes]:
    """Contents of all boxes at a path of nested boxes."""
    for kind, content in _boxes(data):
        if kind == path[0]:
            if len(path) == 1:
                yield content
            else:
                yield from _inside(content, path[1:])


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 0
    while position + 8 <= len(data):
        length, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        if length < 8:
            return
        yield kind, data[position + 8 : position + length]
        position += length


ASSETS: Final = "assets"
SHARE_BLOCKS: Final = 0x40049409
"""FICLONE of Linux: a copy that takes no space until one of the two files changes."""
NAME_CHARACTERS: Final = 20
MAX_PROXY_HEIGHT: Final = 480
MAX_PROXY_FPS: Final = 60
SLACK_FPS: Final = 0.05
"""Times of frames are rounded to ticks: 24 frames a second may look like 24.04."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayableClip(Still):
    """A video that a page can play."""

    href: str
    """Relative to the root of the site."""
    is_proxy: bool
    """Whether it was re-encoded, because browsers would not play the original."""
    sha256: str
    """Hash of the original."""


@dataclass(frozen=True, slots=True)
class SiteMedia(Stills):
    """The `assets` folder of one site: strips are files there, and every video can be played."""

    output: Path

    def store(self, path: Path, video: Video, strip: bytes) -> PlayableClip:
        """Store the strip, and the video or a proxy that browsers play."""
        timeline, sha256 = video.timeline, content_hash(path)
        is_proxy = not is_playable(path)
        name = f"{sha256[:NAME_CHARACTERS]}{'-proxy' if is_proxy else ''}.mp4"
        target = self.output / ASSETS / name
        if not target.is_file():
            if is_proxy:
                _write_proxy(video, target)
            else:
                _copy(path, target)
        return PlayableClip(
            href=f"{ASSETS}/{name}",
            strip=self.picture(strip),
            times=frame_times(timeline),
            width=timeline.width,
            height=timeline.height,
            is_proxy=is_proxy,
            sha256=sha256,
        )

    def picture(self, encoded: bytes) -> str:
        """Store a JPEG image; returns its path relative to the root of the site."""
        name = f"{hashlib.sha256(encoded).hexdigest()[:NAME_CHARACTERS]}.jpg"
        target = self.output / ASSETS / name
        if not target.is_file():
            write_whole(target, lambda file: file.write(encoded))
        return f"{ASSETS}/{name}"


def _copy(source: Path, target: Path) -> None:
    """A file of its own, so that editing the site does not edit the dataset; it shares blocks where disks can."""
    with source.open("rb") as original:

        def write(file: BinaryIO) -> None:
            try:
                fcntl.ioctl(file.fileno(), SHARE_BLOCKS, original.fileno())
            except OSError:  # another disk, or one whose files cannot share blocks
                shutil.copyfileobj(original, file)

        write_whole(target, write)


def _write_proxy(video: Video, target: Path) -> None:
    """Re-encode the video, with every frame shown as long as in the original."""
    times = frame_times(video.timeline)
    shortest = min(end - start for start, end in pairwise(times))
    fps = max(1, min(MAX_PROXY_FPS, math.ceil(1 / max(shortest, 1e-3) - SLACK_FPS)))
    shown_at = (np.arange(max(1, round(times[-1] * fps))) + 0.5) / fps
    sources = np.clip(np.searchsorted(times, shown_at, side="right") - 1, 0, len(times) - 2)
    write_video(target, _repeated(video, np.bincount(sources, minlength=len(times) - 1)), fps)


def _repeated(video: Video, repeats: np.ndarray) -> Iterator[Pixels]:
    height = min(MAX_PROXY_HEIGHT, video.timeline.height)
    every = FrameRequest(indices=frozenset(range(len(repeats))), height=height)
    for _, frame in video.frames([every]):
        pixels = _with_even_sides(frame.pixels)
        for _ in range(int(repeats[frame.index])):
            yield pixels


def _with_even_sides(pixels: Pixels) -> Pixels:
    odd_rows, odd_columns = (side % 2 for side in pixels.shape[:2])
    return np.pad(pixels, ((0, odd_rows), (0, odd_columns), (0, 0)), mode="edge")
