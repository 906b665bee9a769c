"""Reads `.npz` archives that others made: no pickle, no more memory than asked for."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from tokenize import TokenError
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Reason

MOST_BYTES_WHOLE = 256 * 1024 * 1024
"""A pose or intrinsics array is kilobytes; one that claims more than this is damaged or hostile."""
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, RuntimeError)
"""What the standard library raises on archives that are cut off, overwritten, encrypted or packed in unknown ways."""


class ArrayArchive:
    """An open `.npz` archive. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise self.error("there is no such file.", Reason.MISSING_INPUT)
        try:
            self._zip = zipfile.ZipFile(path)
        except DAMAGE as error:
            raise self.error(f"not a readable .npz archive ({error}).") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

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
            if size > MOST_BYTES_WHOLE:
                raise self.error(f"{name} claims the shape {shape}, which is too large to be what it should be.")
            return np.ndarray(shape, dtype, self._bytes(name, member, size), order="F" if fortran else "C")

    def rows(self, name: str) -> Iterator[NDArray[Any]]:
        """An array one entry of its first axis at a time, for arrays that do not fit into memory."""
        with self._open(name) as member:
            shape, fortran, dtype = self._header(name, member)
            if fortran or not shape:
                raise self.error(f"{name} is not stored row after row; save it with numpy's default order.")
            size = math.prod(shape[1:]) * dtype.itemsize
            if size > MOST_BYTES_WHOLE:
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
            found = ", ".join(sorted(entry.removesuffix(".npy") for entry in self._zip.namelist())) or "nothing"
            raise self.error(f"there is no array named {name!r}; found: {found}.") from error
        except DAMAGE as error:
            raise self.error(f"{name} cannot be read ({error}).") from error

    def _header(self, name: str, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = npy.read_magic(member)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(member)
        except (*DAMAGE, TypeError, SyntaxError, TokenError, MemoryError) as error:
            raise self.error(f"{name} is not a NumPy array ({error}).") from error
        if dtype.hasobject:
            raise self.error(f"{name} holds pickled objects, which are never loaded. Save plain numbers.")
        if dtype.kind not in "biufc":
            raise self.error(f"{name} holds {dtype}, expected plain numbers.")
        held = self._zip.getinfo(f"{name}.npy").file_size
        if any(not 0 <= extent <= held for extent in shape):
            raise self.error(f"{name} claims the shape {shape} of {dtype}, but holds only {held} bytes.")
        return shape, fortran, dtype

    def _bytes(self, name: str, member: IO[bytes], count: int) -> bytes:
        try:
            data = member.read(count)
        except DAMAGE as error:
            raise self.error(f"{name} is damaged ({error}).") from error
        if len(data) < count:
            raise self.error(f"{name} is cut off.")
        return data
