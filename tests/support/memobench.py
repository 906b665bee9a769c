"""Writes datasets in the layout of MemoBench."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lookaway.io.pictures import png_bytes
from lookaway.world.exports.memobench import write_spreadsheet

VIDEO = b"not decoded by readers of the layout"
FRAMES = 12
PICTURE = png_bytes(np.full((16, 24, 3), 90, np.uint8))
SYNTHETIC_HEAD = ("video_folder", "exits", "re-enter", "prompt")
REAL_HEAD = ("id", "exit", "reenter")


def write_pictures(folder: Path, pictures: Sequence[Any] | int = FRAMES, name: str = "frame_{:04d}.png") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    shown = [PICTURE] * pictures if isinstance(pictures, int) else [png_bytes(picture) for picture in pictures]
    for index, encoded in enumerate(shown):
        (folder / name.format(index)).write_bytes(encoded)
    return folder


def write_table(path: Path, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        write_spreadsheet(path, [head, *rows])
        return
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


@dataclass
class MemoBenchWriter:
    """One folder with `data` and `output`."""

    root: Path
    suffix: str = ".csv"
    """Of the tables of keyframes."""
    keyframes: dict[str, list[list[Any]]] = field(default_factory=lambda: {"synthetic": [], "real": []})
    subjects: dict[str, list[list[Any]]] = field(default_factory=lambda: {"synthetic": [], "real": []})

    @property
    def data(self) -> Path:
        return self.root / "data"

    def synthetic(
        self,
        scene: str = "Nordic",
        number: int = 3,
        keys: Sequence[Any] | None = (4, 8),
        *,
        pictures: Sequence[Any] | int = FRAMES,
        poses: Any = None,
        prompt: Any = "A person sees a fox(subject) running. It comes back.",
    ) -> Path:
        """A reference clip with its keyframes and subject."""
        name = f"{scene}_{number:03d}"
        folder = self.data / "Synthetic_processed" / scene / name
        write_pictures(folder / f"RGB{number}", pictures, "NewLevelSequence." + "{:04d}.png")
        (folder / str(number)).mkdir()
        count = pictures if isinstance(pictures, int) else len(pictures)
        np.save(folder / f"{number}/intrinsics.npy", np.tile([20.0, 20, 12, 8], (count, 1)))
        np.save(folder / f"{number}/poses.npy", np.tile(np.eye(4), (count, 1, 1)) if poses is None else poses)
        if keys is not None:
            self.keyframes["synthetic"].append([name, *keys, prompt])
        self.subjects["synthetic"].append([scene, number, "fox", "", prompt])
        self.tables()
        return folder

    def real(self, number: int = 7, keys: Sequence[Any] | None = (4, 8), *, video: bytes | None = VIDEO) -> Path:
        name = f"{number:03d}"
        folder = self.data / "Real_Raw" / name
        write_pictures(folder / "FRAMES", FRAMES)
        if video is not None:
            (folder / f"{name}.mp4").write_bytes(video)
        (folder / "raw").mkdir()
        np.savez(folder / f"raw/{name}_mapanything.npz", cam_c2w=np.tile(np.eye(4), (FRAMES, 1, 1)))
        if keys is not None:
            self.keyframes["real"].append([number, *keys])
        self.subjects["real"].append([number, "a glass of water", "", "A glass of water fizzes."])
        self.tables()
        return folder

    def tables(self) -> None:
        """Write all tables anew."""
        parts = {"synthetic": ("Synthetic_processed/Synthetic", SYNTHETIC_HEAD), "real": ("Real_Raw/Real", REAL_HEAD)}
        heads = {
            "synthetic": ("scene", "video_id", "subject", "exr_path", "prompt"),
            "real": ("video_id", "subject", "full_image_path", "prompt"),
        }
        for part, (path, head) in parts.items():
            if self.keyframes[part]:
                write_table(self.data / f"{path}_ExitReenter{self.suffix}", head, self.keyframes[part])
            if self.subjects[part]:
                write_table(self.data / f"sam3_metadata/{part}_metadata.csv", heads[part], self.subjects[part])

    def generated(self, path: str = "Synthetic/Nordic_003.mp4", *, model: str = "alpha", video: bytes = VIDEO) -> Path:
        """What a model made: a file, or a folder of pictures where the path has no suffix."""
        target = self.root / "output" / model / path
        if not target.suffix:
            return write_pictures(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(video)
        return target
