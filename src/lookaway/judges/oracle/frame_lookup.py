"""Finds which clip a request shows, from its pictures and their times alone."""

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
from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.oracle.parsed_question import CannotAnswer, ParsedQuestion

SIDE = 32
"""Thumbnails of this many pixels a side still show a target that fills a hundredth of the picture."""
BLOCKS = 4
"""Means of this many blocks a side tell most clips apart."""
ROUNDING = 1e-6
"""What single precision may add to the distance of a whole clip."""
NEAR = 0.05
"""Root mean square, of colours from 0 to 1: JPEG at half the height costs 0.02, a target that is gone 0.05 to 0.07."""
LABEL_ERROR_SECONDS = 0.0051
"""Labels of frames are rounded to hundredths."""

Thumbnail = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class FrameMatch:
    """The clip that is shown, and which of its frames."""

    clip: KnownClip
    frames: tuple[int, ...]
    """One index for each picture."""
    pixels: int
    """Total of all pictures."""


@dataclass(frozen=True, slots=True)
class _IndexedClip:
    clip: KnownClip
    thumbnails: Thumbnail
    """[frames, values]"""
    times_seconds: Floats


class FrameLookup:
    """Matches pictures to clips by thumbnails of all frames; caches what it found by the hashes of the pictures."""

    def __init__(self, clips: Sequence[KnownClip]) -> None:
        self._clips = [_index(clip) for clip in clips]
        lengths = [len(indexed.times_seconds) for indexed in self._clips]
        self._starts = np.cumsum([0, *lengths[:-1]])
        self._blocks = np.concatenate([_blocks(indexed.thumbnails) for indexed in self._clips])
        self._times = np.concatenate([indexed.times_seconds for indexed in self._clips])
        self._half_frames = np.repeat([_half_frame(indexed) for indexed in self._clips], lengths)
        self._thumbnails_by_key: dict[str, tuple[Thumbnail, int]] = {}
        self._matches: dict[tuple[object, ...], FrameMatch] = {}

    def find(self, question: ParsedQuestion) -> FrameMatch:
        """The clip whose frames match the pictures best, in order of time; raises `CannotAnswer` if none is close.

        If the pictures are labelled with times, only frames at these times are compared, in whichever order they come.
        """
        urls = question.pictures if question.video is None else (question.video,)
        keys = tuple(hashlib.sha256(url.encode()).hexdigest() for url in urls)
        cache_key = (*keys, question.times_seconds)
        if cache_key not in self._matches:
            found = [self._thumbnails(key, url) for key, url in zip(keys, urls, strict=True)]
            pictures = np.concatenate([thumbnails for thumbnails, _ in found])
            self._matches[cache_key] = self._nearest(
                pictures, question.times_seconds, sum(pixels for _, pixels in found)
            )
        return self._matches[cache_key]

    def _thumbnails(self, key: str, url: str) -> tuple[Thumbnail, int]:
        if key not in self._thumbnails_by_key:
            pictures = list(_pictures(url))
            thumbnails = np.stack([_thumbnail(picture) for picture in pictures])
            self._thumbnails_by_key[key] = thumbnails, sum(picture.shape[0] * picture.shape[1] for picture in pictures)
        return self._thumbnails_by_key[key]

    def _nearest(self, pictures: Thumbnail, times: tuple[float, ...], pixels: int) -> FrameMatch:
        labels = np.array(times) if len(times) == len(pictures) else None
        if labels is not None:
            order = np.argsort(labels, kind="stable")
            pictures, labels = pictures[order], labels[order]
        best, worst_picture, match = math.inf, math.inf, None
        for indexed in self._candidates(pictures, labels):
            distances = _distances(pictures, indexed, labels)
            frames = _in_order(distances)
            each = distances[np.arange(len(frames)), frames]
            if each.sum() < best:
                best, worst_picture = float(each.sum()), float(each.max())
                match = FrameMatch(indexed.clip, tuple(int(frame) for frame in frames), pixels)
        if match is None or math.sqrt(worst_picture) > NEAR:
            found = f"{math.sqrt(worst_picture):.3f} away" if match else "not there at these times"
            raise CannotAnswer(
                f"no clip of this oracle's world matches these {len(pictures)} pictures: the nearest clip is {found}, "
                f"expected at most {NEAR}. Start the oracle with the world that the videos come from."
            )
        return match

    def _candidates(self, pictures: Thumbnail, labels: Floats | None) -> list[_IndexedClip]:
        """Clips that may be the nearest: blocks are never further apart than the thumbnails that they are means of."""
        distances = _squared_differences(_blocks(pictures), self._blocks)
        if labels is not None:
            distances = np.where(_is_then(labels, self._times, self._half_frames), distances, np.inf)
        bounds = np.minimum.reduceat(distances, self._starts, axis=1).sum(axis=0)
        first = _distances(pictures, self._clips[int(np.argmin(bounds))], labels)
        reached = first[np.arange(len(first)), _in_order(first)].sum()
        return [self._clips[place] for place in np.flatnonzero(bounds <= reached + ROUNDING)]


def _index(clip: KnownClip) -> _IndexedClip:
    with Video(clip.clip.video) as video:
        times = video.timeline.times_seconds
        every = FrameRequest(frozenset(range(len(times))), None)
        thumbnails = np.stack([_thumbnail(frame.pixels) for _, frame in video.frames([every])])
    return _IndexedClip(clip, thumbnails, np.asarray(times))


def _thumbnail(pixels: Pixels) -> Thumbnail:
    import cv2  # slow to import, and not every oracle is shown pictures

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
        raise CannotAnswer(f"{kind[:40]!r} cannot be read as a picture or video: {error}") from error


def _frames(data: bytes) -> list[Pixels]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shown.mp4"
        path.write_bytes(data)
        with Video(path) as video:
            return [frame.pixels for window in video.windows(1) for frame in window]


def _blocks(thumbnails: Thumbnail) -> NDArray[np.float32]:
    """[frames, values] means of blocks."""
    side = SIDE // BLOCKS
    squares = thumbnails.reshape(-1, BLOCKS, side, BLOCKS, side, 3)
    return np.asarray(squares.mean(axis=(2, 4), dtype=np.float32)).reshape(len(thumbnails), -1)


def _distances(pictures: Thumbnail, indexed: _IndexedClip, labels: Floats | None) -> Floats:
    """[pictures, frames] mean squared differences; infinite where the label names another time."""
    distances = _squared_differences(pictures, indexed.thumbnails)
    if labels is None:
        return distances
    return np.where(_is_then(labels, indexed.times_seconds, _half_frame(indexed)), distances, np.inf)


def _squared_differences(pictures: NDArray[np.floating], frames: NDArray[np.floating]) -> Floats:
    ours, theirs = pictures.astype(np.float32) - 0.5, frames.astype(np.float32) - 0.5
    squares = (ours**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None] - 2 * ours @ theirs.T
    return np.asarray(np.maximum(squares / ours.shape[1], 0.0))


def _half_frame(indexed: _IndexedClip) -> float:
    return 0.5 / indexed.clip.card.fps


def _is_then(labels: Floats, times: Floats, half_frames: Floats | float) -> NDArray[np.bool_]:
    """[pictures, frames] whether a label may name the time of a frame."""
    return np.abs(labels[:, None] - times[None]) <= half_frames + LABEL_ERROR_SECONDS


def _in_order(distances: Floats) -> NDArray[np.intp]:
    """[pictures] the frames with the smallest total distance that never go back in time."""
    total, steps = distances[0], []
    for row in distances[1:]:
        least = np.minimum.accumulate(total)
        steps.append(np.maximum.accumulate(np.where(total == least, np.arange(len(total)), 0)))
        total = row + least
    frames = [int(np.argmin(total))]
    for step in reversed(steps):
        frames.append(int(step[frames[-1]]))
    return np.array(frames[::-1])
