"""Stores every reply of a judge under the hash of its request.

    REPLIES/ab/ab12...json    {"request": ..., "reply": ..., "reply_sha256": ...}

A stored request has no API key and no pictures, but the hash of each frame. Files are written atomically and never
changed, so that several processes can share a folder, and folders can be merged by copying.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lookaway.core import DatasetError, Json, JudgeRequest, digest
from lookaway.io.files import read_json, write_json
from lookaway.io.object_storage import run_errors


@dataclass(frozen=True, slots=True)
class ReplyStore:
    """Replies in a folder."""

    root: Path

    def get(self, request: JudgeRequest) -> Json | None:
        """The stored reply to this request; `None` if there is none, or it is damaged."""
        path = self.path(request.key())
        try:
            stored = read_json(path)
            is_whole = digest(stored["request"]) == path.stem and digest(stored["reply"]) == stored["reply_sha256"]
        except (DatasetError, KeyError, TypeError):
            return None
        return stored["reply"] if is_whole else None

    def put(self, request: JudgeRequest, reply: Json) -> None:
        """Store a reply."""
        described = request.to_json()
        path = self.path(digest(described))
        with run_errors(f"{path.parent}: replies cannot be stored here"):
            write_json(path, {"request": described, "reply": reply, "reply_sha256": digest(reply)})

    def path(self, key: str) -> Path:
        """The file of a reply."""
        return self.root / key[:2] / f"{key}.json"
