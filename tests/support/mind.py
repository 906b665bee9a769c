"""Writes datasets in the layout of MIND."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VIDEO = b"not decoded by readers of the layout"


def actions(mark: int = 2, total: int = 6, **changes: Any) -> dict[str, Any]:
    """`action.json`: backward up to the mark, and from there on forward, looking to the left."""
    place = {axis: 0.0 for axis in "xyz"}
    data = [
        {"time": frame, "ws": way, "ad": 0, "ud": 0, "lr": 2 - way, "actor_pos": place, "actor_rpy": place}
        for frame, way in enumerate([2] * mark + [1] * (total - mark))
    ]
    return {"mark_time": mark, "total_time": total, "caption": "a street", "data": data, **changes}


@dataclass(frozen=True)
class MindWriter:
    """One folder with `MIND-Data` and `models`."""

    root: Path

    @property
    def truth(self) -> Path:
        return self.root / "MIND-Data"

    def case(
        self,
        name: str = "street",
        *,
        subset: str = "1st_data/mem_test",
        record: Any = None,
        video: bytes | None = VIDEO,
        poses: str | None = None,
    ) -> Path:
        """A true video with its actions; `record` is JSON, or text that shall not be."""
        perspective, test = subset.split("/")
        folder = self.truth / perspective / "test" / test / name
        folder.mkdir(parents=True, exist_ok=True)
        record = actions() if record is None else record
        (folder / "action.json").write_text(record if isinstance(record, str) else json.dumps(record))
        if video is not None:
            (folder / "video.mp4").write_bytes(video)
        if poses is not None:
            (folder / "images.txt").write_text(poses)
        return folder

    def answer(
        self,
        name: str = "street",
        *,
        model: str = "alpha",
        subset: str = "1st_data/mem_test",
        video: bytes = VIDEO,
        poses: str | None = None,
    ) -> Path:
        """What a model made of it."""
        folder = self.root / "models" / model / subset / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "video.mp4").write_bytes(video)
        if poses is not None:
            (folder / "images.txt").write_text(poses)
        return folder

    def mirror(
        self,
        name: str = "walk",
        files: Sequence[str] = ("path-1.mp4",),
        *,
        model: str = "alpha",
        perspective: str = "1st_data",
        video: bytes = VIDEO,
    ) -> Path:
        """Ways out and back."""
        folder = self.root / "models" / model / perspective / "mirror_test" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file).write_bytes(video)
        return folder
