"""Writes one known camera path in every layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Timeline
from lookaway.io.pose_files.layouts import READERS, PoseLayout
from lookaway.io.pose_files.source import PoseSource, PosesRead
from lookaway.world.exports.conventions import to_camera_track
from lookaway.world.exports.memobench import TRACK_COLUMNS

COUNT = 6
TIMELINE = Timeline(times_seconds=np.arange(COUNT) / 16, width=64, height=48)
FRAMES = np.arange(COUNT)
LENS = np.array([[50.0, 0, 32], [0, 55, 24], [0, 0, 1]])


def known_path(count: int = COUNT) -> Any:
    """[N, 4, 4] camera to world: turning about no axis in particular, going nowhere in particular."""
    poses = np.tile(np.eye(4), (count, 1, 1))
    for index in range(count):
        poses[index, :3, :3] = Rotation.from_rotvec([0.1 * index, 0.3 * index, -0.05]).as_matrix()
        poses[index, :3, 3] = (0.2 * index, -0.1, 1.5 + 0.05 * index**2)
    return poses


@dataclass(frozen=True)
class Written:
    """Files of one layout."""

    layout: PoseLayout
    path: Path
    lens: Path | None = None

    def read(self, **options: Any) -> PosesRead:
        options = {"timeline": TIMELINE, "lens": self.lens, **options}
        return READERS[self.layout](PoseSource(path=self.path, **options))


def save(path: Path, **arrays: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})
    return path


def lenses(count: int = COUNT) -> Any:
    return np.tile(LENS, (count, 1, 1))


def depth(count: int = COUNT) -> Any:
    return np.full((count, 48, 64), 2.0, np.float32)


def da3(folder: Path, **changes: Any) -> Written:
    extrinsics = np.linalg.inv(known_path())[:, :3]
    arrays = {"extrinsics": extrinsics, "intrinsics": lenses(), "depth": depth(), **changes}
    return Written("da3", save(folder / "results.npz", **arrays))


def vggt(folder: Path, **changes: Any) -> Written:
    extrinsic = np.linalg.inv(known_path())[:, :3]
    arrays = {"extrinsic": extrinsic, "intrinsic": lenses(), "depth": depth()[..., None], **changes}
    return Written("vggt", save(folder / "predictions.npz", **arrays))


def vggt_bare(folder: Path, poses: Any = None) -> Written:
    np.save(folder / "poses.npy", known_path() if poses is None else poses)
    return Written("vggt", folder / "poses.npy")


def memobench_array(folder: Path, poses: Any = None, lens: Any = None) -> Written:
    np.save(folder / "poses.npy", known_path() if poses is None else poses)
    np.save(folder / "intrinsics.npy", np.tile([50.0, 55, 32, 24], (COUNT, 1)) if lens is None else lens)
    return Written("memobench", folder / "poses.npy", folder / "intrinsics.npy")


def memobench_track(folder: Path, text: str | None = None) -> Written:
    location, turns = to_camera_track(known_path())
    rows = [[*place, *turn, 50, 55, 32, 24] for place, turn in zip(location.tolist(), turns.tolist(), strict=True)]
    written = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    path = folder / "camera_full7.csv"
    path.write_text(f"{','.join(TRACK_COLUMNS)}\n{written}" if text is None else text)
    return Written("memobench", path)


def mapanything(folder: Path, **changes: Any) -> Written:
    arrays = {"cam_c2w": known_path(), "intrinsic": LENS, "depth": depth(), **changes}
    return Written("mapanything", save(folder / "001_mapanything.npz", **arrays))


def vipe(folder: Path, *, data: Any = None, inds: Any = FRAMES, lens: dict[str, Any] | None = None) -> Written:
    rows = np.tile(LENS[[0, 1, 0, 1], [0, 1, 2, 2]], (COUNT, 1))
    poses = save(folder / "pose" / "clip.npz", data=known_path() if data is None else data, inds=inds)
    return Written(
        "vipe", poses, save(folder / "intrinsics" / "clip.npz", **{"data": rows, "inds": FRAMES, **(lens or {})})
    )


HEAD = "# Image list with two lines of data per image:\n#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME\n"
CAMERA = "# Camera list\n1 PINHOLE 64 48 50.0 55.0 32.0 24.0\n"


def image_lines(points: str = "\n", name: str = "images/frame_{:06d}.jpg", first: int = 0) -> list[str]:
    """One image an entry, with its line of points."""
    lines = []
    for index, matrix in enumerate(np.linalg.inv(known_path())):
        x, y, z, w = Rotation.from_matrix(matrix[:3, :3]).as_quat()
        numbers = " ".join(f"{number:.9f}" for number in (w, x, y, z, *matrix[:3, 3]))
        lines.append(f"{index + 1} {numbers} 1 {name.format(index + first)}\n{points}")
    return lines


def colmap(folder: Path, images: str | None = None, cameras: str = CAMERA) -> Written:
    text = HEAD + "".join(image_lines()) if images is None else images
    (folder / "images.txt").write_text(text, encoding="utf-8")
    (folder / "cameras.txt").write_text(cameras, encoding="utf-8")
    return Written("colmap", folder / "images.txt", folder / "cameras.txt")


WHOLE: dict[str, Callable[[Path], Written]] = {
    "da3": da3,
    "vggt": vggt,
    "vggt poses alone": vggt_bare,
    "mapanything": mapanything,
    "vipe": vipe,
    "colmap": colmap,
    "memobench array": memobench_array,
    "memobench track": memobench_track,
}
"""Every layout, complete."""
