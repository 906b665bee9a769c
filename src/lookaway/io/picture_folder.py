"""A folder of numbered pictures as a video: decodes them in order, each once, or raises a typed error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import av
import numpy as np

from lookaway.core import DatasetError, Pixels, Reason, VideoError
from lookaway.io.dataset_files import read_limited
from lookaway.io.decoding import USUAL_FPS, FrameIndex
from lookaway.io.files import picture_names
from lookaway.io.limits import MAX_ASPECT, MAX_PIXELS, MAX_SIDE_PIXELS
from lookaway.io.pictures import picture_pixels

MAX_PICTURES = 100_000
"""A folder with more pictures is no clip."""
MAX_PICTURE_BYTES = 256 * 1024 * 1024
"""A larger file is no picture."""
NUMBER = re.compile(r"(\d+)\D*$")
"""The last number of a name, which counts its frames."""
PNG_HEAD, JPEG_HEAD = b"\x89PNG\r\n\x1a\n", b"\xff\xd8"
JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG segments that hold the size of the picture."""


class PictureFolder:
    """The PNG and JPEG pictures of one folder, in the order of their names, at 25 frames a second.

    Names are numbered without gaps, and padded with zeros, so that every program reads them in one order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.decoded_pictures = 0
        """Number of pictures decoded so far in all passes."""
        self._names = self._listed()
        self._size: tuple[int, int] | None = None
        self.first_picture = self._picture(0)
        count = len(self._names)
        self.index = FrameIndex(np.arange(count) / USUAL_FPS, (), (), np.arange(count, dtype=np.int64))

    def close(self) -> None:
        """Nothing stays open between two pictures."""

    def error(self, reason: Reason, message: str) -> VideoError:
        """A typed error about this folder."""
        return VideoError(reason, f"{self._path.name}: {message}")

    def pictures(self, wanted: Sequence[int]) -> Iterator[tuple[int, av.VideoFrame]]:
        """The pictures of increasing indices."""
        for index in wanted:
            yield index, self._picture(index)

    def _listed(self) -> list[str]:
        try:
            names = picture_names(self._path)
        except OSError as error:
            raise self.error(Reason.UNDECODABLE, f"the folder cannot be listed: {error.strerror}.") from error
        if not names:
            raise self.error(Reason.NOT_A_VIDEO, "not a regular file, nor a folder of PNG or JPEG pictures.")
        if len(names) > MAX_PICTURES:
            raise self.error(Reason.UNDECODABLE, f"it holds {len(names)} pictures, expected {MAX_PICTURES} at most.")
        self._check_numbers(names)
        return names

    def _check_numbers(self, names: Sequence[str]) -> None:
        found = [NUMBER.search(os.path.splitext(name)[0]) for name in names]
        if not all(found):
            return  # without numbers, the order of names is all there is
        numbers = [int(match[1]) for match in found if match]
        steps = [(later - number, place) for place, (number, later) in enumerate(pairwise(numbers))]
        least, place = min(steps, default=(1, 0))
        if least < 1:
            raise self.error(
                Reason.UNDECODABLE,
                f"{names[place + 1]} comes after {names[place]} by name but not by number. Pad numbers with zeros, and "
                "keep one picture for each.",
            )
        most, place = max(steps, default=(1, 0))
        if most > 1:
            raise self.error(
                Reason.TRUNCATED,
                f"no picture is numbered {numbers[place] + 1}, between {names[place]} and {names[place + 1]}.",
            )

    def _picture(self, index: int) -> av.VideoFrame:
        name = self._names[index]
        pixels = self._pixels(name)
        self.decoded_pictures += 1
        size = (pixels.shape[1], pixels.shape[0])
        self._size = self._size or size
        if size != self._size:
            raise self.error(
                Reason.UNDECODABLE,
                f"{name} has {size[0]} x {size[1]} pixels, the first picture {self._size[0]} x {self._size[1]}.",
            )
        return av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")

    def _pixels(self, name: str) -> Pixels:
        path = self._path / name
        try:
            encoded = read_limited(path, MAX_PICTURE_BYTES, name)
        except DatasetError as error:
            raise self.error(Reason.UNDECODABLE, str(error)) from error
        size = announced_size(encoded)
        if size is None or not 0 < size[0] * size[1] <= MAX_PIXELS:
            raise self.error(Reason.UNDECODABLE, f"{name} is not a PNG or JPEG picture of 1 to {MAX_PIXELS} pixels.")
        shorter, longer = sorted(size)
        if longer > MAX_SIDE_PIXELS or longer > MAX_ASPECT * shorter:
            raise self.error(
                Reason.UNDECODABLE,
                f"{name} has {size[0]} x {size[1]} pixels; sides of at most {MAX_SIDE_PIXELS} pixels are read, the "
                f"longer at most {MAX_ASPECT} times the shorter.",
            )
        try:
            return picture_pixels(encoded)
        except ValueError as error:
            raise self.error(Reason.UNDECODABLE, f"{name} is damaged: {error}") from error


def announced_size(encoded: bytes) -> tuple[int, int] | None:
    """Width and height in the header of a PNG or JPEG, before anything is unpacked; `None` where there is none."""
    if encoded.startswith(PNG_HEAD) and len(encoded) >= 24:
        return int.from_bytes(encoded[16:20], "big"), int.from_bytes(encoded[20:24], "big")
    position = 2 if encoded.startswith(JPEG_HEAD) else len(encoded)
    while position + 9 <= len(encoded) and encoded[position] == 0xFF:
        marker = encoded[position + 1]
        if marker in JPEG_SIZES:
            height, width = encoded[position + 5 : position + 7], encoded[position + 7 : position + 9]
            return int.from_bytes(width, "big"), int.from_bytes(height, "big")
        # A byte 0xFF before a marker is filling.
        position += 1 if marker == 0xFF else 2 + int.from_bytes(encoded[position + 2 : position + 4], "big")
    return None
