"""Hashes that the files of a run carry, so that reading notices damage.

A file of rows has the hash of its bytes in its name, a JSON file the hash of its content under `sha256`, a line of a
journal a checksum under `crc32`, and a feature its hash after its last byte. Files of older versions have none.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from lookaway.core import DamagedFile, Json, digest
from lookaway.io.files import read_bytes, remove_all, write_whole
from lookaway.io.object_storage import is_remote

SHA256: Final = "sha256"
DAMAGED: Final = ".damaged"
"""Suffix of files that were set aside."""
HASHED_NAME: Final = re.compile(r".+\.([0-9a-f]{32})\.[a-z]+")
SEAL: Final = b', "crc32": "%08x"}'
SEAL_FRAME: Final = b', "crc32": "........"}'
"""A seal with any checksum."""
SEAL_SLIPS: Final = 2
"""As many other bytes in the frame of a seal are damage; with more, the line has none."""


def byte_hash(content: bytes) -> str:
    """BLAKE2b of 128 bits, which is faster than SHA-256 where the processor has no instruction for either."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def hash_in_name(path: Path) -> str | None:
    """The hash of the content, in a name like `NAME.HASH.parquet`; `None` in a name without one."""
    match = HASHED_NAME.fullmatch(path.name)
    return match[1] if match else None


def check_named(path: Path, content: bytes) -> None:
    """Raise `DamagedFile` if the name has a hash, and the content another."""
    recorded = hash_in_name(path)
    if recorded is not None and recorded != byte_hash(content):
        raise DamagedFile(f"{path}: damaged, {len(content)} bytes without the hash in its name. {REMEDY}")


REMEDY: Final = "Run the same `lookaway eval` again: it sets the file aside and measures its rollouts again."


def with_hash(value: Mapping[str, Json]) -> dict[str, Json]:
    """A JSON object with the hash of its content; one that it has already is replaced."""
    content = {name: entry for name, entry in value.items() if name != SHA256}
    return {**content, SHA256: digest(content)}


def without_hash(value: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The content of a JSON object, which must have the hash in it if there is one."""
    content = {name: entry for name, entry in value.items() if name != SHA256}
    if SHA256 in value and value[SHA256] != (found := digest(content)):
        raise DamagedFile(
            f"{path}: records the hash {value[SHA256]!r:.80}, but its content hashes to {found}: it was changed. "
            "Restore the file, or run the same `lookaway eval` again, which rewrites it."
        )
    return content


def seal_line(line: bytes) -> bytes:
    """A JSON object in one line with a checksum as its last entry; other lines as they are."""
    if not line.endswith(b"}") or line == b"{}":
        return line
    return line[:-1] + SEAL % zlib.crc32(line)


def unseal_line(line: bytes) -> bytes | None:
    """The line without its checksum; `None` if it has another. Lines of older versions have none."""
    if not is_sealed(line):
        return line
    content = line[: -len(SEAL_FRAME)] + b"}"
    return content if seal_line(content) == line else None


def is_sealed(line: bytes) -> bool:
    """Whether a line has a checksum, be it a damaged one."""
    end = line[-len(SEAL_FRAME) :]
    slips = sum(found != known for found, known in zip(end, SEAL_FRAME, strict=False) if known != ord("."))
    return len(end) == len(SEAL_FRAME) and slips <= SEAL_SLIPS


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is kept and no longer read; does nothing if another process has done so."""
    target = path.with_name(path.name + DAMAGED)
    with suppress(FileNotFoundError):
        if is_remote(path):
            content = read_bytes(path)
            write_whole(target, lambda file: file.write(content))
            remove_all([path])
        else:
            path.rename(target)
    return target
