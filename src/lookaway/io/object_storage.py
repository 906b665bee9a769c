"""Objects in place of files: read, written, listed and removed whole, and patiently.

The paths of `upath` say of a server that does not answer that there is no such file. A run that believed it would lose
what it has, so nothing but these functions asks object storage.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from lookaway.io.patience import patiently
from lookaway.io.storage_faults import explained

T = TypeVar("T")
Item = TypeVar("Item")

AT_ONCE: Final = 16
"""Requests under way, where many objects are read or removed: each mostly waits."""
PAGE: Final = 1000
"""Objects in one answer to a request for a listing."""
_STORAGES: Final[dict[tuple[int, str, str], Any]] = {}
_GUARD: Final = threading.Lock()


def read_object(path: Path, start: int | None = None, end: int | None = None) -> bytes:
    """The content, or a part of it; a `FileNotFoundError` where there is no such object."""
    # Without several requests for one object the size need not be asked for first.
    options = {"start": start, "end": end, "max_concurrency": 1}
    return bytes(_ask("reading", path, lambda: _storage(path).cat_file(str(path), **options)))


def write_object(path: Path, content: bytes) -> None:
    """Put an object in place; nobody ever sees a part of it."""
    _ask("writing", path, lambda: _storage(path).pipe_file(str(path), content))


def is_object(path: Path) -> bool:
    """Whether there is one."""
    try:
        return bool(_ask("finding", path, lambda: _storage(path).info(str(path)))["type"] == "file")
    except FileNotFoundError:
        return False


def object_sizes(folder: Path) -> dict[Path, int]:
    """Every object that lies directly in a folder, with its bytes; none where there is no folder."""
    found = _listed(folder)
    if len(found) >= PAGE:
        # Many objects come in several answers, and what is merged between two of them may be in neither.
        found |= _listed(folder)
    return found


def remove_object(path: Path) -> None:
    """Remove an object, if it is there."""
    _ask("removing", path, lambda: _storage(path).rm_file(str(path)))


def for_all(do: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """The results of many requests, several of which are under way at once."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="objects") as pool:
        return list(pool.map(do, items))


def _listed(folder: Path) -> dict[Path, int]:
    try:
        entries = _ask("listing", folder, lambda: _storage(folder).ls(str(folder), detail=True, refresh=True))
    except FileNotFoundError:
        return {}
    sizes, own = {}, str(folder).partition("://")[2].rstrip("/")
    for entry in entries:
        above, _, name = entry["name"].rpartition("/")
        # An object that has the folder's own name is listed where the folder is empty.
        if name and entry["type"] == "file" and above == own:
            sizes[folder / name] = entry["size"]
    return sizes


def _ask(doing: str, path: Path, call: Callable[[], Any]) -> Any:
    try:
        return patiently(f"{doing} {path}", call)
    except Exception as error:
        told = explained(error, path)
        if told is error:
            raise
        raise told from error


def _storage(path: Path) -> Any:
    """One for all threads of this process: each has connections of its own, and takes a moment to make."""
    where: Any = path
    known = (os.getpid(), where.protocol, repr(sorted(where.storage_options.items())))
    with _GUARD:
        if known not in _STORAGES:
            from fsspec import filesystem  # type: ignore[import-untyped]

            _STORAGES[known] = filesystem(where.protocol, **where.storage_options)
            _STORAGES[known].retries = 1  # patience is ours, here too
        return _STORAGES[known]
