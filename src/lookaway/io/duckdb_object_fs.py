"""Lets a database read objects where they lie, patiently, with one request for a small one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # type: ignore[import-untyped]

from lookaway.core import StorageError
from lookaway.io.object_storage import OBJECT_STORAGE, read_object

SMALL_BYTES: Final = 4 * 1024 * 1024
"""Up to which an object is fetched as a whole; of larger ones only what is asked for."""
REMEMBERED_BYTES: Final = 64 * 1024 * 1024
"""Of small objects, which a database opens several times for one question."""
UNKNOWN: Final = datetime.fromtimestamp(0, UTC)


class DuckDBObjectFS(AbstractFileSystem):  # type: ignore[misc]
    """Objects of known sizes, as the files of a database."""

    protocol = OBJECT_STORAGE
    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, tuple[Path, int]] = {}
        self._remembered: dict[str, bytes] = {}
        self._fault: StorageError | None = None

    def hold(self, sizes: Mapping[Path, int]) -> None:
        """Know these objects, with their bytes, and no others."""
        self._held = {str(path): (path, size) for path, size in sizes.items()}
        self._remembered = {}

    def take_fault(self) -> StorageError | None:
        """Why object storage could not be read since this was last asked: a database tells of it only as text."""
        fault, self._fault = self._fault, None
        return fault

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def glob(self, path: str, **options: Any) -> list[str]:
        """The object of this name: the name of a run may hold what others take for a pattern."""
        return [path] if path in self._held else []

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Its name and size."""
        if path not in self._held:
            raise FileNotFoundError(path)
        return {"name": path, "size": self._held[path][1], "type": "file"}

    def modified(self, path: str) -> datetime:
        """The same for all, since objects are never changed."""
        return UNKNOWN

    def read(self, path: str, start: int, end: int) -> bytes:
        """Some bytes of an object; of a small one, which is asked for once, all that it holds now."""
        where, size = self._held[path]
        try:
            if size > SMALL_BYTES:
                return read_object(where, start, end)
            if path in self._remembered:
                return self._remembered[path]
            content = read_object(where)
        except StorageError as error:
            self._fault = error
            raise
        if len(content) + sum(map(len, self._remembered.copy().values())) <= REMEMBERED_BYTES:
            self._remembered[path] = content
        return content

    def _open(self, path: str, mode: str = "rb", **options: Any) -> _ObjectFile:
        is_small = self.info(path)["size"] <= SMALL_BYTES
        return _ObjectFile(self, path, mode, block_size=SMALL_BYTES, cache_type="all" if is_small else "readahead")


class _ObjectFile(AbstractBufferedFile):  # type: ignore[misc]
    def _fetch_range(self, start: int, end: int) -> bytes:
        return bytes(self.fs.read(self.path, start, end))
