"""Stores every reply of a judge under the hash of its request.

    REPLIES/ab/ab12...json    {"request": ..., "reply": ..., "reply_sha256": ...}

A stored request has no API key and no pictures, but the hash of each frame. Files are written atomically and never
changed, so that several processes can share a folder, and folders can be merged by copying.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookaway.core import DamagedFile, DatasetError, Json, JudgeRequest, StorageError, digest
from lookaway.io.checksums import set_aside
from lookaway.io.files import parse_json, read_bytes, write_json
from lookaway.io.object_storage import run_errors

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReplyStore:
    """Replies in a folder."""

    root: Path

    def get(self, request: JudgeRequest) -> Json | None:
        """The stored reply to this request; `None` if there is none, or it is damaged."""
        path = self.path(request.key())
        try:
            return read_reply(path, read_bytes(path))
        except StorageError:
            raise
        except OSError:  # most often there is no such file
            return None
        except DamagedFile as error:
            LOG.warning("%s", error)
            return None

    def put(self, request: JudgeRequest, reply: Json) -> None:
        """Store a reply."""
        described = request.to_json()
        path = self.path(digest(described))
        with run_errors(f"{path.parent}: replies cannot be stored here"):
            self._set_aside_damaged(path)
            write_json(path, {"request": described, "reply": reply, "reply_sha256": digest(reply)})

    def _set_aside_damaged(self, path: Path) -> None:
        try:
            read_reply(path, read_bytes(path))
        except FileNotFoundError:
            return
        except DamagedFile:
            set_aside(path)

    def path(self, key: str) -> Path:
        """The file of a reply."""
        return self.root / key[:2] / f"{key}.json"


def read_reply(path: Path, content: bytes) -> Json:
    """The reply in a file with this content; raises `DamagedFile` if its hashes are not those of request and reply."""
    try:
        stored: Any = parse_json(content, str(path))
        is_whole = digest(stored["request"]) == path.stem and digest(stored["reply"]) == stored["reply_sha256"]
    except (DatasetError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise DamagedFile(f"{path}: the stored reply is damaged. `lookaway eval` asks the judge again.")
    return stored["reply"]
