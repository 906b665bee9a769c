"""Lets DuckDB read objects on object storage, with retries, and with one request for a small object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # type: ignore[import-untyped]

from lookaway.core import StorageError
from lookaway.io.object_storage import OBJECT_STORAGE, read_object

SMALL_BYTES: Final = 4 * 1024 * 1024
"""Objects up to this size are fetched whole; of larger ones only the requested ranges."""
CACHED_BYTES: Final = 64 * 1024 * 1024
"""Cache of small objects, which DuckDB opens several times per query."""
UNKNOWN: Final = datetime.fromtimestamp(0, UTC)


class DuckDBObjectFS(AbstractFileSystem):  # type: ignore[misc]
    """A file system of objects with known sizes."""

    protocol = OBJECT_STORAGE
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, tuple[Path, int]] = {}
        self._cached: dict[str, bytes] = {}
        self._error: StorageError | None = None

    def hold(self, sizes: Mapping[Path, int]) -> None:
        """Serve these objects, given with their sizes, and no others."""
        self._held = {str(path): (path, size) for path, size in sizes.items()}
        self._cached = {}

    def keep(self, path: Path, content: bytes) -> None:
        """Take the content of an object that was just read, if it is small."""
        if len(content) <= SMALL_BYTES and len(content) + sum(map(len, self._cached.copy().values())) <= CACHED_BYTES:
            self._cached[str(path)] = content

    def take_error(self) -> StorageError | None:
        """The last error of object storage since the last call: DuckDB reports it only as text."""
        error, self._error = self._error, None
        return error

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def glob(self, path: str, **options: Any) -> list[str]:
        """The object of exactly this name: a run's name may look like a pattern."""
        return [path] if path in self._held else []

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Its name and size."""
        if path not in self._held:
            raise FileNotFoundError(path)
        return {"name": path, "size": self._held[path][1], "type": "file"}

    def modified(self, path: str) -> datetime:
        """A constant, since objects never change."""
        return UNKNOWN

    def read(self, path: str, start: int, end: int) -> bytes:
        """A range of an object; all of a small one, which is requested whole."""
        where, size = self._held[path]
        try:
            if size > SMALL_BYTES:
                return read_object(where, start, end)
            if path in self._cached:
                return self._cached[path]
            content = read_object(where)
        except StorageError as error:
            self._error = error
            raise
        self.keep(where, content)
        return content

    def _open(self, path: str, mode: str = "rb", **options: Any) -> _ObjectFile:
        is_small = self.info(path)["size"] <= SMALL_BYTES
        return _ObjectFile(self, path, mode, block_size=SMALL_BYTES, cache_type="all" if is_small else "readahead")


class _ObjectFile(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        return bytes(self.fs.read(self.path, start, end))
