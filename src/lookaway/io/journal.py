"""An append-only journal of lines that many processes share.

On disk it is one file, and every append is one system call, so lines never mix. Object storage cannot append to an
object, so there every append is an object of its own, in a folder of the journal's name:

    events.jsonl/01763...-ab12....jsonl    the lines of one append
    events.jsonl/merged-...jsonl           the lines of many, each append after a line that names it

An append is identified by its name and counts once: an interrupted merge, or two at once, may leave copies, and an
append is removed only after it has been merged.

Lines that are JSON objects carry a checksum; those that fail it are left out, and counted.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Final
from uuid import uuid4

from lookaway.core import RunError
from lookaway.io.checksums import is_sealed, seal_line, unseal_line
from lookaway.io.files import list_files, read_all, read_bytes, remove_all, write_whole
from lookaway.io.object_storage import is_remote

SUFFIX: Final = ".jsonl"
MERGED: Final = "merged-"
"""Sorts after the appends: what is merged during a listing is then still listed."""
MIN_MERGED: Final = 2
TRIES: Final = 20
"""How often listed appends may be merged by others before they are read."""
ONE_FILE: Final = ""
"""Name of an object at the journal's own path: a run that was copied from a disk."""
UNFINISHED: Final = b" (unfinished)"
"""Ends a line that was being written when its process ended. No JSON ends so, and readers leave it out as such."""
MAX_LAST_LINE: Final = 1024 * 1024
"""Bytes that are read to find the last line."""
LOG = logging.getLogger(__name__)


class Journal:
    """One writer or reader of a journal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._given: set[str] = set()
        self._own: dict[str, bytes] = {}
        self.damaged = 0
        """Lines left out so far, since their checksum is not that of their content."""

    def __reduce__(self) -> tuple[type[Journal], tuple[Path]]:
        return Journal, (self._path,)

    def append(self, lines: Sequence[str | bytes]) -> None:
        """Add lines, all of them or none."""
        content = b"".join(seal_line(line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
        if not content:
            return
        if self._is_folder():
            name = f"{time.time_ns():020d}-{uuid4().hex}{SUFFIX}"
            write_whole(self._path / name, lambda file: file.write(content))
            self._own[name] = content
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab", buffering=0) as file:
            written = file.write(content)  # one call to the system
            if written < len(content):
                _undo_write(file, written)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def end_line(self) -> None:
        """End and mark a last line that was being written at a crash, so that the next append is a line of its own."""
        if self._is_folder() or not self._path.is_file() or self._path.stat().st_size == 0:
            return
        with self._path.open("rb") as file:
            file.seek(-min(self._path.stat().st_size, MAX_LAST_LINE), os.SEEK_END)
            last = file.read().rpartition(b"\n")[2]
        if last:
            is_whole = is_sealed(last) and unseal_line(last) is not None
            with self._path.open("ab", buffering=0) as file:
                file.write(b"\n" if is_whole else UNFINISHED + b"\n")

    def lines(self) -> list[bytes]:
        """Every complete line, in the order of the appends."""
        return Journal(self._path).news()

    def news(self, *, of_others: bool = True) -> list[bytes]:
        """Every complete line that this reader has not returned before.

        Without `of_others` object storage is not read, and only this writer's own lines are returned.
        """
        return list(self._whole(self._sealed_news(of_others=of_others)))

    def _sealed_news(self, *, of_others: bool) -> list[bytes]:
        if not self._is_folder():
            return list(self._news_of_file())
        news, self._own = self._own, {}
        if of_others:
            self._find_news(news)
        self._given |= news.keys()
        return [line for name in sorted(news) for line in news[name].split(b"\n")[:-1]]

    def merge(self) -> None:
        """Merge many appends into one object. Does nothing if the journal is a file."""
        if not self._is_folder():
            return
        paths = [path for path in list_files(self._path, SUFFIX) if not path.name.startswith(MERGED)]
        if len(paths) < MIN_MERGED:
            return
        try:
            contents = read_all(paths)
        except FileNotFoundError:
            return  # somebody else is merging them
        merged = b"".join(_section(path.name, content) for path, content in zip(paths, contents, strict=True))
        target = self._path / f"{MERGED}{time.time_ns():020d}-{uuid4().hex}{SUFFIX}"
        write_whole(target, lambda file: file.write(merged))
        remove_all(paths)

    def _whole(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        before = self.damaged
        for line in lines:
            content = unseal_line(line)
            if not line:
                continue  # two writers ended an unfinished line at once
            if content is None:
                self.damaged += 1
            else:
                yield content
        if self.damaged > before:
            LOG.warning("%s: %d damaged lines are left out.", self._path, self.damaged - before)

    def _is_folder(self) -> bool:
        return is_remote(self._path) or self._path.is_dir()

    def _news_of_file(self) -> Iterator[bytes]:
        if not self._path.is_file():
            return
        with self._path.open("rb") as file:
            file.seek(self._read_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # another process is writing it
                self._read_bytes += len(line)
                yield line[:-1]

    def _find_news(self, news: dict[str, bytes]) -> None:
        """Add new appends to `news`, by name."""
        if ONE_FILE not in self._given:
            news[ONE_FILE] = _content_if_any(self._path) if is_remote(self._path) else b""
        for path, content in self._read_unknown(self._given | news.keys()):
            if path.name.startswith(MERGED):
                self._given.add(path.name)
                news.update((name, lines) for name, lines in _sections(path, content) if name not in self._given)
            else:
                news[path.name] = content

    def _read_unknown(self, known: set[str]) -> list[tuple[Path, bytes]]:
        for _ in range(TRIES):
            wanted = [path for path in list_files(self._path, SUFFIX) if path.name not in known]
            try:
                return list(zip(wanted, read_all(wanted), strict=True))
            except FileNotFoundError:
                continue  # somebody merged them since they were listed
        raise RunError(f"{self._path}: its listed appends cannot be read. Run the same command again.")


def _undo_write(file: FileIO, written: int) -> None:
    """Remove a partial write, so that the next append does not continue in the middle of a line."""
    end = file.tell()
    if os.fstat(file.fileno()).st_size == end:  # somebody else may have found room behind it
        file.truncate(end - written)


def _content_if_any(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return b""


def _section(name: str, content: bytes) -> bytes:
    return json.dumps({"append": name, "bytes": len(content)}).encode() + b"\n" + content


def _sections(path: Path, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The appends in a merged object, by name."""
    start = 0
    while start < len(content):
        try:
            begin = content.index(b"\n", start) + 1
            entry = json.loads(content[start:begin])
            name, end = str(entry["append"]), begin + int(entry["bytes"])
            if not begin <= end <= len(content):
                raise ValueError("an append ends outside the object")
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path}: damaged, expected an append at byte {start}. Delete it.") from error
        yield name, content[begin:end]
        start = end
