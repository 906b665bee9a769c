"""Whether browsers play a video file as it is, judged by its outermost boxes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

WAY_TO_TRACKS: Final = (b"moov", b"trak")
WAY_TO_CODECS: Final = (b"mdia", b"minf", b"stbl", b"stsd")
SAMPLE_ENTRIES_AFTER: Final = 8
"""Bytes of a sample description before its entries: version, flags, count."""
PICTURE_ENTRY_BYTES: Final = 78
"""Fixed fields of an entry for pictures before the boxes inside it."""
FOUR_TWO_ZERO: Final = frozenset({66, 77, 100})
"""H.264 Baseline, Main and High: eight bits, colour at half the resolution. Players know no others for sure."""
MOST_INDEX_BYTES: Final = 64 * 1024 * 1024


def is_playable(path: Path) -> bool:
    """Whether the file is MP4 whose one video track is H.264 with yuv420p."""
    with path.open("rb") as file:
        index = _index(file)
    if index is None:
        return False
    codecs = [codec for track in _inside(index, WAY_TO_TRACKS) for codec in _picture_codecs(track)]
    return len(codecs) == 1 and codecs[0] in FOUR_TWO_ZERO


def _picture_codecs(track: bytes) -> Iterator[int | None]:
    """The profile of every entry for pictures in a track; `None` where it is not H.264."""
    if not any(handler[8:12] == b"vide" for handler in _inside(track, (b"mdia", b"hdlr"))):
        return
    for description in _inside(track, WAY_TO_CODECS):
        for kind, entry in _boxes(description[SAMPLE_ENTRIES_AFTER:]):
            settings = [box for name, box in _boxes(entry[PICTURE_ENTRY_BYTES:]) if name == b"avcC"]
            yield settings[0][1] if kind == b"avc1" and settings and len(settings[0]) > 1 else None


def _index(file: BinaryIO) -> bytes | None:
    """The box that says what the tracks are, with its head; `None` where the file is no MP4."""
    is_mp4 = False
    while len(head := file.read(8)) == 8:
        length, kind, used = int.from_bytes(head[:4], "big"), head[4:], 8
        if length == 1:
            length, used = int.from_bytes(file.read(8), "big"), 16
        is_mp4 = is_mp4 or kind == b"ftyp"
        if kind == b"moov" and is_mp4 and used <= length <= MOST_INDEX_BYTES:
            return head + file.read(length - used)
        if length < used or not is_mp4:
            return None
        file.seek(length - used, 1)
    return None


def _inside(data: bytes, way: tuple[bytes, ...]) -> Iterator[bytes]:
    """Contents of all boxes at the end of a way of nested boxes."""
    for kind, content in _boxes(data):
        if kind == way[0]:
            if len(way) == 1:
                yield content
            else:
                yield from _inside(content, way[1:])


def _boxes(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 0
    while position + 8 <= len(data):
        length, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        if length < 8:
            return
        yield kind, data[position + 8 : position + length]
        position += length
