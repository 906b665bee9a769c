"""Every reply of a judge, under the hash of what was asked.

    REPLIES/ab/ab12...json    {"request": ..., "reply": ..., "reply_sha256": ...}

A request holds no key and no pictures, but the hash of each frame. Files are written whole or not at all, and never
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
        """The kept reply to this request, whole and undamaged; `None` where there is none."""
        path = self.path(request.key())
        try:
            kept = read_json(path)
            is_whole = digest(kept["request"]) == path.stem and digest(kept["reply"]) == kept["reply_sha256"]
        except (DatasetError, KeyError, TypeError):
            return None
        return kept["reply"] if is_whole else None

    def put(self, request: JudgeRequest, reply: Json) -> None:
        """Keep a reply."""
        shown = request.shown()
        path = self.path(digest(shown))
        with run_errors(f"{path.parent}: replies cannot be kept here"):
            write_json(path, {"request": shown, "reply": reply, "reply_sha256": digest(reply)})

    def path(self, key: str) -> Path:
        """Where a reply lies."""
        return self.root / key[:2] / f"{key}.json"
