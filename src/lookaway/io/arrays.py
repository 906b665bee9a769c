"""Reads `.npz` archives and `.npy` files safely: without pickle, and within a memory limit."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from tokenize import TokenError
from types import TracebackType
from typing import IO, Any, Self, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Reason

MAX_BYTES_WHOLE = 256 * 1024 * 1024
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
            if size > MAX_BYTES_WHOLE:
                raise self.error(f"{name} claims the shape {shape}, which is too large.")
            return np.ndarray(shape, dtype, self._bytes(name, member, size), order="F" if fortran else "C")

    def rows(self, name: str) -> Generator[NDArray[Any], None, None]:
        """Iterate over the first axis of an array that does not fit into memory."""
        with self._open(name) as member:
            shape, fortran, dtype = self._header(name, member)
            if fortran or not shape:
                raise self.error(f"{name} is not stored in row-major order; save it with numpy's default order.")
            size = math.prod(shape[1:]) * dtype.itemsize
            if size > MAX_BYTES_WHOLE:
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
        file = path.open("rb")
    except OSError as problem:
        raise error(f"cannot be read ({problem}).") from problem
    with file:
        shape, fortran, dtype = _read_header("the file", file, path.stat().st_size, error)
        size = math.prod(shape) * dtype.itemsize
        if size > MAX_BYTES_WHOLE:
            raise error(f"it claims the shape {shape}, which is too large.")
        data = _read_bytes("the file", file, size, error)
    return np.ndarray(shape, dtype, data, order="F" if fortran else "C"), error


def _read_header(name: str, file: IO[bytes], held: int, error: Refuse) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and type of an array in `held` bytes."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(file)
    except (*DAMAGE, TypeError, SyntaxError, TokenError, MemoryError) as problem:
        raise error(f"{name} is not a NumPy array ({problem}).") from problem
    if dtype.hasobject:
        raise error(f"{name} holds pickled objects, which are never loaded. Save plain numbers.")
    if dtype.kind not in "biufc":
        raise error(f"{name} holds {dtype}, expected plain numbers.")
    if any(not 0 <= extent <= held for extent in shape):
        raise error(f"{name} claims the shape {shape} of {dtype}, but holds only {held} bytes.")
    return shape, fortran, dtype


def _read_bytes(name: str, file: IO[bytes], count: int, error: Refuse) -> bytes:
    try:
        data = file.read(count)
    except DAMAGE as problem:
        raise error(f"{name} is damaged ({problem}).") from problem
    if len(data) < count:
        raise error(f"{name} is truncated.")
    return data
