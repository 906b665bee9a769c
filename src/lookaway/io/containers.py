"""Checks a video container from its outermost boxes, before decoding."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import av
from av.container import InputContainer

from lookaway.core import Reason, VideoError

BOXES_THAT_BEGIN_A_FILE = {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"styp", b"moof", b"sidx"}


def identify(path: Path) -> str:
    """FFmpeg's name for the container of a complete file, detected from its bytes, not its name.

    Only containers that record their length are accepted; others (MPEG-TS, FLV, raw streams) do not show truncation.
    FFmpeg also reads playlists, image sequences and text art as containers, some of which open other files.
    """
    if not path.exists():
        raise VideoError(Reason.MISSING_VIDEO, f"{path.name}: there is no such file.")
    if not path.is_file():
        raise VideoError(Reason.NOT_A_VIDEO, f"{path.name}: not a regular file.")
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            raise VideoError(Reason.EMPTY_FILE, f"{path.name}: the file is empty.")
        file.seek(0)
        found = _container(file.read(12))
        if found is None:
            raise VideoError(Reason.NOT_A_VIDEO, f"{path.name}: not a video in MP4, MOV, Matroska, WebM, AVI or GIF.")
        name, announced_end = found
        end = announced_end(file, size)
    if end > size:
        message = f"it announces {end} bytes or more, but ends after {size}."
        raise VideoError(Reason.TRUNCATED, f"{path.name}: {message}")
    return name


def announced_seconds(container: InputContainer, stream: av.VideoStream) -> float | None:
    """End time of the stream according to a Matroska file, since damage in between is skipped silently."""
    if "matroska" not in container.format.name:
        return None
    if match := re.fullmatch(r"(\d+):(\d+):(\d+(?:\.\d+)?)", stream.metadata.get("DURATION", "")):
        hours, minutes, seconds = map(float, match.groups())
        return hours * 3600 + minutes * 60 + seconds
    if len(container.streams) == 1 and container.duration is not None:
        return container.duration / av.time_base
    return None


def _container(head: bytes) -> tuple[str, Callable[[BinaryIO, int], int]] | None:
    if head[4:8] in BOXES_THAT_BEGIN_A_FILE:
        return "mov", _end_of_boxes
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska", _end_of_matroska
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "avi", _end_of_riff
    if head[:4] == b"GIF8":
        return "gif", _end_of_gif
    return None


def _end_of_boxes(file: BinaryIO, size: int) -> int:
    """Where the last outermost box of an MP4 ends; past the end of the file if there is no frame index."""
    position, has_index = 0, False
    while position + 8 <= size:
        file.seek(position)
        header = file.read(16)
        length, kind = int.from_bytes(header[:4], "big"), header[4:8]
        if length == 1:
            length = int.from_bytes(header[8:16], "big")
        has_index = has_index or kind == b"moov"
        if length < 8:  # 0: to the end of the file; 2 to 7: no box
            break
        position += length
    return position if has_index else max(position, size + 8)


def _end_of_matroska(file: BinaryIO, size: int) -> int:
    """Where the EBML header and the segment after it end; 0 if the segment does not say."""
    file.seek(4)
    length = _ebml_size(file)
    if length is None:
        return 0
    file.seek(length, os.SEEK_CUR)
    if file.read(4) != b"\x18S\x80g":
        return file.tell()
    length = _ebml_size(file)
    return 0 if length is None else file.tell() + length


def _end_of_gif(file: BinaryIO, size: int) -> int:
    """A GIF ends with a semicolon."""
    file.seek(-1, os.SEEK_END)
    return size if file.read(1) == b";" else size + 1


def _ebml_size(file: BinaryIO) -> int | None:
    """An EBML length: the leading zero bits of the first byte count the bytes that follow."""
    first = int.from_bytes(file.read(1), "big")
    following = 8 - first.bit_length()
    value = int.from_bytes(bytes([first & ((1 << (7 - following)) - 1)]) + file.read(following)) if first else None
    is_unknown = value is None or value == (1 << (7 * (following + 1))) - 1
    return None if is_unknown else value


def _end_of_riff(file: BinaryIO, size: int) -> int:
    """Where the last RIFF chunk of an AVI ends; large files have several."""
    position = 0
    while position + 12 <= size:
        file.seek(position)
        header = file.read(8)
        length = int.from_bytes(header[4:8], "little")
        if header[:4] != b"RIFF" or length in (0, 0xFFFFFFFF):  # never finished, or followed by something else
            break
        position += 8 + length + length % 2
    return position
