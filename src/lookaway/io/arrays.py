"""Reads `.npz` archives that others made: no pickle, no more memory than asked for."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from lookaway.core import ArtifactError, Reason

MOST_BYTES_WHOLE = 256 * 1024 * 1024
"""A pose or intrinsics array is kilobytes; one that claims more than this is damaged or hostile."""


class ArrayArchive:
    """An open `.npz` archive. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise ArtifactError(Reason.MISSING_INPUT, f"{path.name}: there is no such file.")
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
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
        return np.stack(list(self._rows(name, MOST_BYTES_WHOLE))) if self.shape(name) else self._scalar(name)

    def rows(self, name: str) -> Iterator[NDArray[Any]]:
        """An array one entry of its first axis at a time, for arrays that do not fit into memory."""
        return self._rows(name, None)

    def error(self, message: str) -> ArtifactError:
        """A typed error about this file."""
        return ArtifactError(Reason.INVALID_INPUT, f"{self._path.name}: {message}")

    def _rows(self, name: str, most_bytes: int | None) -> Iterator[NDArray[Any]]:
        with self._open(name) as member:
            shape, fortran, dtype = self._header(name, member)
            row_bytes = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
            if fortran or not shape:
                raise self.error(f"{name} is stored in column order; save it with numpy's default order.")
            if most_bytes is not None and row_bytes * shape[0] > most_bytes or row_bytes > MOST_BYTES_WHOLE:
                raise self.error(f"{name} claims the shape {shape}, which is too large to be what it should be.")
            for row in range(shape[0]):
                data = self._read_bytes(member, row_bytes)
                if len(data) < row_bytes:
                    raise self.error(f"{name} ends after {row} of {shape[0]} entries.")
                yield np.frombuffer(data, dtype).reshape(shape[1:])

    def _scalar(self, name: str) -> NDArray[Any]:
        with self._open(name) as member:
            _, _, dtype = self._header(name, member)
            data = self._read_bytes(member, dtype.itemsize)
        if len(data) < dtype.itemsize:
            raise self.error(f"{name} is cut off.")
        return np.frombuffer(data, dtype)[0]  # type: ignore[no-any-return]

    def _open(self, name: str) -> IO[bytes]:
        try:
            return self._zip.open(f"{name}.npy")
        except KeyError as error:
            found = ", ".join(sorted(entry.removesuffix(".npy") for entry in self._zip.namelist())) or "nothing"
            raise self.error(f"there is no array named {name!r}; found: {found}.") from error
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as error:
            raise self.error(f"{name} cannot be read ({error}).") from error

    def _header(self, name: str, member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = npy.read_magic(member)  # type: ignore[no-untyped-call]
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(member)  # type: ignore[no-untyped-call]
        except (ValueError, TypeError, SyntaxError, EOFError, OSError, zlib.error, zipfile.BadZipFile) as error:
            raise self.error(f"{name} is not a NumPy array ({error}).") from error
        if dtype.hasobject:
            raise self.error(f"{name} holds pickled objects, which are never loaded. Save plain numbers.")
        if dtype.itemsize == 0 or any(extent < 0 for extent in shape):
            raise self.error(f"{name} has the impossible shape {shape} of {dtype}.")
        return shape, fortran, dtype

    def _read_bytes(self, member: IO[bytes], count: int) -> bytes:
        try:
            return member.read(count)
        except (zlib.error, zipfile.BadZipFile, OSError, EOFError) as error:
            raise self.error(f"the archive is damaged ({error}).") from error
