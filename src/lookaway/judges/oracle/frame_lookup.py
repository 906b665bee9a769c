"""Finds out which clip is shown, from nothing but its pictures and their times."""

from __future__ import annotations

import base64
import hashlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, FrameRequest, Pixels, VideoError
from lookaway.io.pictures import picture_pixels
from lookaway.io.video import Video
from lookaway.judges.oracle.asked import Asked, CannotAnswer
from lookaway.judges.oracle.clip_index import KnownClip

SIDE = 32
"""Thumbnails of this many pixels a side still show a target that fills a hundredth of the picture."""
NEAR = 0.05
"""Root mean square, of colours from 0 to 1: JPEG at half the height costs 0.02, a target that is gone 0.05 to 0.07."""
LABEL_ERROR_SECONDS = 0.0051
"""Labels of frames are rounded to hundredths."""

Thumbnail = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class FrameLookup:
    """The clip that is shown, and which of its frames."""

    clip: KnownClip
    frames: tuple[int, ...]
    """One for each picture."""
    pixels: int
    """Of all pictures together."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    clip: KnownClip
    thumbnails: Thumbnail
    """[frames, values]"""
    times_seconds: Floats


class Eyes:
    """Knows clips by thumbnails of all their frames; pictures that it has seen once are known by their hash."""

    def __init__(self, clips: Sequence[KnownClip]) -> None:
        self._clips = [_remember(clip) for clip in clips]
        self._seen: dict[str, tuple[Thumbnail, int]] = {}
        self._found: dict[tuple[object, ...], FrameLookup] = {}

    def add_frame(self, asked: Asked) -> FrameLookup:
        """The clip whose frames are nearest to the pictures, in the order of time; a `CannotAnswer` where none is near.

        Where the pictures are labelled with times, only frames of these times are compared.
        """
        urls = asked.pictures if asked.video is None else (asked.video,)
        keys = tuple(hashlib.sha256(url.encode()).hexdigest() for url in urls)
        known = (*keys, asked.times_seconds)
        if known not in self._found:
            seen = [self._thumbnails(key, url) for key, url in zip(keys, urls, strict=True)]
            pictures = np.concatenate([thumbnails for thumbnails, _ in seen])
            self._found[known] = self._nearest(pictures, asked.times_seconds, sum(pixels for _, pixels in seen))
        return self._found[known]

    def _thumbnails(self, key: str, url: str) -> tuple[Thumbnail, int]:
        if key not in self._seen:
            pictures = list(_pictures(url))
            thumbnails = np.stack([_thumbnail(picture) for picture in pictures])
            self._seen[key] = thumbnails, sum(picture.shape[0] * picture.shape[1] for picture in pictures)
        return self._seen[key]

    def _nearest(self, pictures: Thumbnail, times: tuple[float, ...], pixels: int) -> FrameLookup:
        labels = np.array(times) if len(times) == len(pictures) else None
        best, worst_picture, sight = math.inf, math.inf, None
        for known in self._clips:
            distances = _distances(pictures, known, labels)
            frames = _in_order(distances)
            each = distances[np.arange(len(frames)), frames]
            if each.sum() < best:
                best, worst_picture = float(each.sum()), float(each.max())
                sight = FrameLookup(known.clip, tuple(int(frame) for frame in frames), pixels)
        if sight is None or math.sqrt(worst_picture) > NEAR:
            found = f"{math.sqrt(worst_picture):.3f} off" if sight else "not there at these times"
            raise CannotAnswer(
                f"no clip of this oracle's world shows these {len(pictures)} pictures: the nearest clip is {found}, "
                f"expected at most {NEAR}. Give the oracle the world that the videos come from."
            )
        return sight


def _remember(clip: KnownClip) -> _Remembered:
    with Video(clip.clip.video) as video:
        times = video.timeline.times_seconds
        every = FrameRequest(frozenset(range(len(times))), None)
        thumbnails = np.stack([_thumbnail(frame.pixels) for _, frame in video.frames([every])])
    return _Remembered(clip, thumbnails, np.asarray(times))


def _thumbnail(pixels: Pixels) -> Thumbnail:
    import cv2  # takes a moment to import, and not every oracle looks at pictures

    small = cv2.resize(pixels.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.asarray(small / 255, np.float16).reshape(-1)


def _pictures(url: str) -> Iterator[Pixels]:
    kind, _, encoded = url.partition(";base64,")
    try:
        data = base64.b64decode(encoded, validate=True)
        if kind.startswith("data:video/"):
            yield from _frames(data)
        else:
            yield picture_pixels(data)
    except (ValueError, VideoError) as error:
        raise CannotAnswer(f"{kind[:40]!r} is no picture or video that can be read: {error}") from error


def _frames(data: bytes) -> list[Pixels]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shown.mp4"
        path.write_bytes(data)
        with Video(path) as video:
            return [frame.pixels for window in video.windows(1) for frame in window]


def _distances(pictures: Thumbnail, known: _Remembered, labels: Floats | None) -> Floats:
    """[pictures, frames] mean squares; infinite where the label says another time."""
    ours, theirs = pictures.astype(np.float32) - 0.5, known.thumbnails.astype(np.float32) - 0.5
    squares = (ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None] - 2 * ours @ theirs.T
    distances: Floats = np.maximum(squares / ours.shape[1], 0.0)
    if labels is None:
        return distances
    half_frame = 0.5 / known.clip.card.fps
    is_then = np.abs(labels[:, None] - known.times_seconds[None]) <= half_frame + LABEL_ERROR_SECONDS
    return np.asarray(np.where(is_then, distances, np.inf))


def _in_order(distances: Floats) -> NDArray[np.intp]:
    """[pictures] the frames of the least sum of distances that never goes back in time."""
    total, steps = distances[0], []
    for row in distances[1:]:
        least = np.minimum.accumulate(total)
        steps.append(np.maximum.accumulate(np.where(total == least, np.arange(len(total)), 0)))
        total = row + least
    frames = [int(np.argmin(total))]
    for step in reversed(steps):
        frames.append(int(step[frames[-1]]))
    return np.array(frames[::-1])
