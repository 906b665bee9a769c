"""Lossless single-channel images, such as depth and instances: FFV1 in Matroska.

FFmpeg's decoder detects damage by the checksum of every slice, but then silently repeats an older picture. Therefore
checksums are compared here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import av
import numpy as np
from av.container import InputContainer
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Reason, VideoError
from lookaway.io.containers import announced_seconds, identify
from lookaway.io.encoding import Encoding, write_pictures

Plane: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16]

FORMATS: Final = {"uint8": "gray", "uint16": "gray16le"}
MAX_PIXELS: Final = 4096 * 4096
"""A header that claims a larger picture is damaged or hostile."""
FFV1: Final = Encoding(
    container="matroska",
    codec="ffv1",
    fps=1,  # Matroska counts milliseconds: at one picture a second every number is exact
    options={"level": "3", "slicecrc": "1", "g": "1"},
)
SHAPE: Final = "SHAPE"
"""Tag with height and width, since Matroska would not reveal damage to those in its header."""
FOOTER_BYTES: Final = 8
"""Bytes at the end of a slice: three for its length, one for its state, four for its checksum."""
REVERSED_BITS: Final = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def write_planes(path: Path, planes: Iterable[Plane]) -> None:
    """Write pictures [height, width] of one size and type, 8 or 16 bits, atomically."""
    pictures = _pictures(planes)
    first = next(pictures, None)
    if first is None:
        raise ValueError("there are no pictures to write; give at least one.")
    shape = {SHAPE: f"{first.height}x{first.width}"}
    write_pictures(path, chain([first], pictures), replace(FFV1, metadata=shape))


def read_planes(path: Path) -> Iterator[Plane]:
    """All pictures in order, one in memory at a time; raises an `ArtifactError` if the file was not written by us."""
    with _opened(path) as container:
        yield from _Reader(path, container).planes()


def _pictures(planes: Iterable[Plane]) -> Iterator[av.VideoFrame]:
    first: tuple[str, tuple[int, ...]] | None = None
    for index, plane in enumerate(planes):
        found = (plane.dtype.name, plane.shape)
        if found[0] not in FORMATS or plane.ndim != 2 or min(plane.shape) < 2 or plane.size > MAX_PIXELS:
            raise ValueError(
                f"picture {index} is {found[0]} {found[1]}, expected [height, width] of 8 or 16 bits, 2 or more each."
            )
        if first not in (None, found):
            raise ValueError(f"picture {index} is {found[0]} {found[1]}, but earlier ones {first}.")
        first = found
        stored: NDArray[Any] = np.ascontiguousarray(plane)
        yield av.VideoFrame.from_ndarray(stored, format=FORMATS[found[0]])


@contextmanager
def _opened(path: Path) -> Iterator[InputContainer]:
    try:
        if identify(path) != "matroska":
            raise _error(path, "not a Matroska file as written by `write_planes`.")
        with av.open(
            f"file:{path.absolute()}",
            format="matroska",
            options={"protocol_whitelist": "file", "max_pixels": str(MAX_PIXELS)},
            metadata_errors="replace",
        ) as container:
            yield container
    except VideoError as error:
        is_missing = error.reason is Reason.MISSING_VIDEO
        reason = Reason.MISSING_INPUT if is_missing else Reason.INVALID_INPUT
        raise ArtifactError(reason, str(error)) from error
    except av.error.FFmpegError as error:
        raise _error(path, f"it is damaged: {error.strerror}.") from error


class _Reader:
    def __init__(self, path: Path, container: InputContainer) -> None:
        self._path, self._container = path, container
        if len(container.streams) != 1 or not container.streams.video:
            raise _error(path, f"it holds {len(container.streams)} streams, expected one of pictures.")
        self._stream = container.streams.video[0]
        context = self._stream.codec_context
        if context is None or context.name != "ffv1":
            raise _error(path, "its pictures are not encoded as FFV1.")
        context.thread_count = 1
        context.options = {"err_detect": "crccheck+explode", "max_pixels": str(MAX_PIXELS)}
        self._shape = container.metadata.get(SHAPE, "an unknown size")
        self._format: str | None = None

    def planes(self) -> Iterator[Plane]:
        index = -1
        for index, packet in enumerate(packet for packet in self._container.demux(self._stream) if packet.size):
            if packet.pts is None or packet.pts * (packet.time_base or 0) != index:
                raise _error(self._path, f"picture {index} is missing.")
            if packet.is_corrupt or not _is_whole(bytes(packet)):
                raise _error(self._path, f"picture {index} is damaged.")
            pictures = packet.decode()
            if len(pictures) != 1:
                raise _error(self._path, f"picture {index} cannot be decoded.")
            yield self._plane(index, pictures[0])
        announced = announced_seconds(self._container, self._stream)
        if index < 0 or announced != index + 1:
            raise _error(self._path, f"it announces {announced} pictures, but holds {index + 1}.")

    def _plane(self, index: int, picture: av.VideoFrame) -> Plane:
        name, shape = picture.format.name, f"{picture.height}x{picture.width}"
        if name not in FORMATS.values() or self._format not in (None, name):
            raise _error(self._path, f"picture {index} is {name}, expected {self._format or 'gray or gray16le'}.")
        if shape != self._shape or picture.is_corrupt:
            raise _error(self._path, f"picture {index} is {shape}, or damaged, expected {self._shape}.")
        self._format = name
        plane: NDArray[Any] = picture.to_ndarray()
        return plane


def _is_whole(packet: bytes) -> bool:
    """Whether the checksums of all slices are right. Slices are found from the end, where each stores its length."""
    end = len(packet)
    while end > FOOTER_BYTES:
        length = int.from_bytes(packet[end - FOOTER_BYTES : end - FOOTER_BYTES + 3], "big") + FOOTER_BYTES
        if length > end or packet[end - FOOTER_BYTES + 3] or not _sums_to_zero(packet[end - length : end]):
            return False
        end -= length
    return end == 0


def _sums_to_zero(data: bytes) -> bool:
    """FFV1's CRC-32 has the opposite bit order of zlib's, and starts with 0."""
    return zlib.crc32(data.translate(REVERSED_BITS), 0xFFFFFFFF) == 0xFFFFFFFF


def _error(path: Path, message: str) -> ArtifactError:
    return ArtifactError(Reason.INVALID_INPUT, f"{path.name}: {message}")
