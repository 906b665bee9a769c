"""Files and objects: atomic writes, strict JSON, content hashes."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from lookaway.core import DatasetError, Json, StorageError
from lookaway.io import object_storage
from lookaway.io.limits import MAX_DIGITS
from lookaway.io.object_storage import is_remote

PARTIAL = ".partial"
"""Suffix of files that are being written, or whose writer was killed."""


def write_whole(path: Path, write: Callable[[BinaryIO], object], *, is_durable: bool = True) -> None:
    """Write a file so that a reader, or a crash, sees either all of it or none of it.

    With `is_durable` this also holds for a power cut, at a cost of milliseconds. Objects are always durable.
    """
    if is_remote(path):
        content = io.BytesIO()
        write(content)
        object_storage.write_object(path, content.getvalue())
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        partial, file = _open_partial(path.parent, held)
        try:
            with file:
                write(file)
                file.flush()
                if is_durable:
                    os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def _open_partial(folder: Path, held: ExitStack) -> tuple[Path, BinaryIO]:
    """A new file, locked until `held` is left or this process ends."""
    while True:
        partial = folder / f".{uuid4().hex}{PARTIAL}"
        file = partial.open("xb")
        locked = os.dup(file.fileno())  # the file is closed before it gets its name, and the lock must last longer
        held.callback(os.close, locked)
        with suppress(OSError):  # a file system without locks, on which nothing is removed either
            fcntl.flock(locked, fcntl.LOCK_EX)
        if partial.exists():  # otherwise it was removed just before it was locked
            return partial, file
        file.close()


def remove_abandoned(folder: Path) -> None:
    """Remove the partial files of killed writers.

    The system releases a lock when its process ends, so neither the age of a file nor any clock has to be trusted.
    """
    for path in folder.glob(f".*{PARTIAL}"):
        with suppress(OSError), path.open("r+b") as file:  # it is being written, or was finished meanwhile
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def read_bytes(path: Path) -> bytes:
    """The content of a file; raises a `FileNotFoundError` if there is none."""
    return object_storage.read_object(path) if is_remote(path) else path.read_bytes()


def read_all(paths: Sequence[Path]) -> list[bytes]:
    """The contents of several files of one folder."""
    if paths and is_remote(paths[0]):
        return object_storage.for_all(read_bytes, paths)
    return [read_bytes(path) for path in paths]


def is_file(path: Path) -> bool:
    """Whether there is such a file."""
    return object_storage.is_object(path) if is_remote(path) else path.is_file()


def list_files(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder with this suffix, sorted; none if there is no folder."""
    if is_remote(folder):
        return sorted(path for path in object_storage.object_sizes(folder) if path.name.endswith(suffix))
    return sorted(folder.glob(f"*{suffix}"))


def files_below(folder: Path, suffix: str) -> list[Path]:
    """The files with this suffix in a folder and the folders in it, sorted; none if there is no folder."""
    if is_remote(folder):
        return sorted(path for path in object_storage.objects_below(folder) if path.name.endswith(suffix))
    return sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file())


def remove_all(paths: Sequence[Path]) -> None:
    """Remove several files of one folder, ignoring missing ones."""
    if paths and is_remote(paths[0]):
        object_storage.for_all(object_storage.remove_object, paths)
        return
    for path in paths:
        path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and its parents; does nothing on object storage."""
    if not is_remote(path):
        path.mkdir(parents=True, exist_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write text atomically."""
    write_whole(path, lambda file: file.write(text.encode()))


def write_json(path: Path, value: Json) -> None:
    """Write JSON atomically, indented and sorted."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Json:
    """Read a JSON file; NaN and infinity are refused, since they are not JSON."""
    return parse_json(_read_text(path), str(path))


def parse_json(text: str | bytes, where: str) -> Json:
    """Parse JSON, with `where` for messages; numbers must be finite and text valid Unicode."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded)
        if isinstance(text, bytes) or "\\u" in text:
            _refuse_half_characters(value)
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{where}: not valid JSON: {error}.") from error
    return value


def _read_text(path: Path) -> str:
    try:
        if not is_remote(path) and path.exists() and not path.is_file():
            raise OSError("not a regular file")  # reading a pipe would block for ever
        return read_bytes(path).decode("utf-8")
    except StorageError:
        raise  # not a problem of the file
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: there is no such file.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path}: cannot be read as text: {error}.") from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _bounded(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"an integer has more than {MAX_DIGITS} digits")
    return int(text)


def _refuse_half_characters(value: Json) -> None:
    """Escapes can spell half of a surrogate pair, which cannot be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("an escape is half of a surrogate pair") from error


BLOCK_BYTES = 64 * 1024
SAMPLED_BLOCKS = 16


def content_hash(path: Path) -> str:
    """SHA-256 over the size and at most 1 MiB of the content: sixteen blocks spread from the first byte to the last.

    It does not depend on name, path or time. In files above 1 MiB a change that keeps the size and touches none of the
    blocks goes unnoticed; video and archive formats keep their index at one end of the file, so re-encoding, cutting
    or repacking always changes the hash.

    Of a folder of pictures, the names, the sizes and both ends of every picture count.
    """
    if path.is_dir():
        return _pictures_hash(path)
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if size <= BLOCK_BYTES * SAMPLED_BLOCKS:
            digest.update(file.read())
        else:
            for block in range(SAMPLED_BLOCKS):
                file.seek((size - BLOCK_BYTES) * block // (SAMPLED_BLOCKS - 1))
                digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


PICTURE_SUFFIXES = (".jpeg", ".jpg", ".png")
PICTURE_ENDS_BYTES = 4096
"""The end of a compressed picture depends on all of it."""


def picture_names(folder: Path) -> list[str]:
    """Sorted names of the PNG and JPEG files of a folder; hidden ones do not count."""
    with os.scandir(folder) as entries:
        files = [entry.name for entry in entries if entry.name.lower().endswith(PICTURE_SUFFIXES) and entry.is_file()]
    return sorted(name for name in files if not name.startswith("."))


def _pictures_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in picture_names(folder):
        with (folder / name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            start = file.read(PICTURE_ENDS_BYTES)
            file.seek(max(0, size - PICTURE_ENDS_BYTES))
            digest.update(f"{name}/{size}/".encode("utf-8", "surrogateescape") + start + file.read(PICTURE_ENDS_BYTES))
    return digest.hexdigest()
