"""Reads `.npz` archives and `.npy` files safely: without pickle, and within a memory limit."""

from __future__ import annotations

import ast
import io
import lzma
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Reason
from lookaway.io.dataset_files import open_regular
from lookaway.io.limits import (
    MAX_ARCHIVE_BYTES,
    MAX_ARCHIVE_INDEX_BYTES,
    MAX_ARRAY_BYTES,
    MAX_ARRAY_DIMENSIONS,
    MAX_ARRAY_HEADER_BYTES,
)

MAGIC = b"\x93NUMPY"
HEADER_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
"""Type of the length of a header in each version of the format."""
HEADER_KEYS = {"descr", "fortran_order", "shape"}
USUAL_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[^'\\]{1,16})', 'fortran_order': (?P<order>True|False), "
    r"'shape': \((?P<shape>(?:\d{1,18}, )*\d{0,18},?)\),? ?\}"
)
"""A header as NumPy writes it. Others are left to `ast`, which in Python 3.11 fails at times beside other threads."""
END_OF_ARCHIVE, LOCATOR_64 = b"PK\5\6", b"PK\6\7"
LONGEST_END = 76 + 22 + 65535
"""The last records of an archive, with the longest comment."""
NAMED_ARRAYS = 20
"""Arrays that a message names."""
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError)
"""What the standard library raises on archives that are cut off, overwritten, encrypted or packed in unknown ways."""


class ArrayArchive:
    """An open `.npz` archive. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise self.error("there is no such file.", Reason.MISSING_INPUT)
        try:
            self._file = open_regular(path, MAX_ARCHIVE_BYTES)
        except OSError as error:
            raise self.error(f"cannot be read ({error.strerror or error}).") from error
        try:
            if _index_bytes(self._file) > MAX_ARCHIVE_INDEX_BYTES:
                raise self.error(f"its list of arrays is larger than {MAX_ARCHIVE_INDEX_BYTES:,} bytes.")
            self._zip = zipfile.ZipFile(self._file)
        except DAMAGE as error:
            self._file.close()
            raise self.error(f"not a readable .npz archive ({error}).") from error
        except ArtifactError:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()
        self._file.close()

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._zip.namelist()

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of an array, without reading it."""
        with self._open(name) as member:
            return self._header(name, member)[0]

    def read(self, name: str) -> NDArray[Any]:
        """A whole array."""
        with self._open(name) as member:
            shape, fortran, dtype = self._header(name, member)
            size = math.prod(shape) * dtype.itemsize
            if size > MAX_ARRAY_BYTES:
                raise self.error(f"{name} claims the shape {shape}, which is too large.")
            return np.ndarray(shape, dtype, self._bytes(name, member, size), order="F" if fortran else "C")

    def rows(self, name: str) -> Generator[NDArray[Any], None, None]:
        """Iterate over the first axis of an array that does not fit into memory."""
        with self._open(name) as member:
            shape, fortran, dtype = self._header(name, member)
            if fortran or not shape:
                raise self.error(f"{name} is not stored in row-major order; save it with numpy's default order.")
            size = math.prod(shape[1:]) * dtype.itemsize
            if size > MAX_ARRAY_BYTES:
                raise self.error(f"{name} claims entries of the shape {shape[1:]}, which is too large.")
            for _ in range(shape[0] if size else 0):
                yield np.ndarray(shape[1:], dtype, self._bytes(name, member, size))

    def error(self, message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
        """A typed error about this file."""
        return ArtifactError(reason, f"{self._path.name}: {message}")

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(f"{name}.npy")
        except KeyError as error:
            names = sorted(entry.removesuffix(".npy")[:40] for entry in self._zip.namelist())[:NAMED_ARRAYS]
            found = ", ".join(names) or "nothing"
            raise self.error(f"there is no array named {name!r}; found: {found}.") from error
        except DAMAGE as error:
            raise self.error(f"{name} cannot be read ({error}).") from error

    def _header(self, name: str, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        return _read_header(name, member, self._zip.getinfo(f"{name}.npy").file_size, self.error)

    def _bytes(self, name: str, member: IO[bytes], count: int) -> bytes:
        return _read_bytes(name, member, count, self.error)


Refuse: TypeAlias = Callable[..., ArtifactError]
"""Makes an error about one file from a message and a reason."""


def read_array(path: Path) -> tuple[NDArray[Any], Refuse]:
    """The array in a `.npy` file, and a function that makes typed errors about that file."""

    def error(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
        return ArtifactError(reason, f"{path.name}: {message}")

    if not path.is_file():
        raise error("there is no such file.", Reason.MISSING_INPUT)
    try:
        file = open_regular(path, MAX_ARCHIVE_BYTES)
    except OSError as problem:
        raise error(f"cannot be read ({problem.strerror or problem}).") from problem
    with file:
        shape, fortran, dtype = _read_header("the file", file, os.fstat(file.fileno()).st_size, error)
        size = math.prod(shape) * dtype.itemsize
        if size > MAX_ARRAY_BYTES:
            raise error(f"it claims the shape {shape}, which is too large.")
        data = _read_bytes("the file", file, size, error)
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C"), error


def parse_array(name: str, data: bytes | bytearray) -> NDArray[Any]:
    """The array in the bytes of a `.npy` file, without a copy; raises `ArtifactError`."""

    def error(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
        return ArtifactError(reason, message)

    # A header that lies about its length is cut off here, and refused as such.
    file = io.BytesIO(memoryview(data)[: MAX_ARRAY_HEADER_BYTES + 16])
    shape, fortran, dtype = _read_header(name, file, len(data), error)
    start, size = file.tell(), math.prod(shape) * dtype.itemsize
    if size != len(data) - start:
        found = "is truncated" if size > len(data) - start else "goes on after its end"
        raise error(f"{name} {found}: its shape {shape} of {dtype} needs {size:,} bytes, found {len(data) - start:,}.")
    return np.ndarray(shape, dtype, data, offset=start, order="F" if fortran else "C")


def _index_bytes(file: BinaryIO) -> int:
    """Size of the list of arrays in an archive, which is loaded whole when the archive is opened.

    The largest of all sizes that a reader could find: the last record may repeat in its own comment, and the record of
    the 64-bit form, if there is one, lies just before it.
    """
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - LONGEST_END)
    file.seek(start)
    tail = file.read(LONGEST_END)
    file.seek(0)
    found = [0]
    for match in re.finditer(re.escape(END_OF_ARCHIVE), tail):
        end = match.start()
        if len(tail) >= end + 16:
            found.append(int.from_bytes(tail[end + 12 : end + 16], "little"))
        if tail[max(0, end - 20) : end].startswith(LOCATOR_64) and end >= 76:
            found.append(int.from_bytes(tail[end - 76 + 40 : end - 76 + 48], "little"))
    return min(max(found), size)


def _read_header(name: str, file: IO[bytes], held: int, error: Refuse) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an array in `held` bytes."""
    try:
        fields = _header_fields(file)
        shape, fortran, descr = fields["shape"], fields["fortran_order"], fields["descr"]
        dtype = np.dtype(descr if isinstance(descr, str) else "V")
        if not isinstance(shape, tuple) or not all(type(extent) is int for extent in shape):
            raise ValueError("its shape is not a tuple of integers")
        if not isinstance(fortran, bool):
            raise ValueError("its order is neither true nor false")
    except (*DAMAGE, TypeError, SyntaxError, MemoryError, RecursionError) as problem:
        # Messages of the parser quote what they found.
        why = problem if type(problem) in (ValueError, EOFError) else type(problem).__name__
        raise error(f"{name} is not a NumPy array ({why}).") from problem
    if len(shape) > MAX_ARRAY_DIMENSIONS:
        raise error(f"{name} claims {len(shape)} dimensions, at most {MAX_ARRAY_DIMENSIONS} are read.")
    if dtype.hasobject:
        raise error(f"{name} holds pickled objects, which are never loaded. Save plain numbers.")
    if dtype.kind not in "biufc":
        raise error(f"{name} holds {dtype}, expected plain numbers.")
    if any(not 0 <= extent <= held for extent in shape):
        raise error(f"{name} claims the shape {shape} of {dtype}, but holds only {held} bytes.")
    return shape, fortran, dtype


def _header_fields(file: IO[bytes]) -> dict[str, Any]:
    """The header as NumPy writes it, of which no more than the limit is read."""
    head = file.read(8)
    if head[:6] != MAGIC or len(head) < 8:
        raise ValueError("it does not begin as one")
    if head[6] not in HEADER_LENGTHS:
        raise ValueError(f"version {head[6]} of the format is not known")
    form = HEADER_LENGTHS[head[6]]
    length = file.read(struct.calcsize(form))
    if len(length) < struct.calcsize(form):
        raise EOFError("its header is cut off")
    (count,) = struct.unpack(form, length)
    if count > MAX_ARRAY_HEADER_BYTES:
        raise ValueError(f"its header has {count:,} bytes, and at most {MAX_ARRAY_HEADER_BYTES:,} are read")
    text = file.read(count)
    if len(text) < count:
        raise EOFError("its header is cut off")
    # Python 2 wrote integers as 10L.
    source = re.sub(r"(?<=\d)L(?=[,)])", "", text.decode("utf-8" if head[6] == 3 else "latin-1"))
    if usual := USUAL_HEADER.fullmatch(source.strip()):
        extents = tuple(int(extent) for extent in usual["shape"].split(",") if extent.strip())
        return {"descr": usual["descr"], "fortran_order": usual["order"] == "True", "shape": extents}
    fields = ast.literal_eval(source.strip())
    if not isinstance(fields, dict) or fields.keys() != HEADER_KEYS:
        raise ValueError("its header does not name a type, an order and a shape")
    return fields


def _read_bytes(name: str, file: IO[bytes], count: int, error: Refuse) -> bytes:
    try:
        data = file.read(count)
    except DAMAGE as problem:
        raise error(f"{name} is damaged ({problem}).") from problem
    if len(data) < count:
        raise error(f"{name} is truncated.")
    return data
