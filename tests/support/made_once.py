"""Folders that cost time to make and are made once for all test processes.

They lie in a folder that the processes of one run share. Where `LOOKAWAY_TEST_CACHE` names another, they stay for the
next run. What is found there is believed only if every file is as it was written.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CACHE = "LOOKAWAY_TEST_CACHE"
CONTENT, SUMS = "content", "sha256.json"


def key_of(*parts: object) -> str:
    """A name for what is made of these; their `repr` must say everything."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def source_hash(*folders: Path) -> str:
    """Of all Python files in some folders."""
    found = hashlib.sha256()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        found.update(f"{path}\n".encode() + path.read_bytes())
    return found.hexdigest()


def copy_made(key: str, target: Path) -> bool:
    """Copy what was made under a key, and say whether there is such a thing, whole."""
    entry = _cache() / key
    try:
        sums = json.loads((entry / SUMS).read_text())
        shutil.copytree(entry / CONTENT, target)
    except (OSError, ValueError, shutil.Error):
        sums = None
    if sums is None or sums != _sums(target):
        shutil.rmtree(target, ignore_errors=True)
        return False
    return True


def keep_made(key: str, source: Path) -> None:
    """Keep a copy of a folder under a key; whoever looks at the same time sees all of it or nothing."""
    entry = _cache() / key
    with tempfile.TemporaryDirectory(dir=_cache()) as folder:
        written = Path(folder) / "written"
        shutil.copytree(source, written / CONTENT)
        (written / SUMS).write_text(json.dumps(_sums(source)))
        if entry.exists():
            entry.rename(Path(folder) / "damaged")
        written.rename(entry)


@contextmanager
def only_one(key: str) -> Iterator[None]:
    """What is done here with a key, no other process does at the same time."""
    with (_cache() / f"{key}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy_of(key: str, target: Path, make: Callable[[Path], object]) -> Path:
    """A copy of what `make` writes into a folder, made now if it was never made before."""
    with only_one(key):
        if not copy_made(key, target):
            target.parent.mkdir(parents=True, exist_ok=True)
            make(target)
            keep_made(key, target)
    return target


def _cache() -> Path:
    folder = Path(os.environ[CACHE])
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sums(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
