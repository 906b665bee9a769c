"""Writes MBench datasets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class MBenchWriter:
    """A dataset under `root`, one rollout at a time."""

    root: Path
    dataset_id: str = "mbencha"
    extrinsics_convention: str | None = "world_to_camera"
    lines: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add(
        self,
        *,
        subset: str = "environment",
        sample: str = "room",
        condition: str = "left_then_right_10s",
        model: str = "truth",
        metadata: dict[str, Any] | None = None,
        annotations: dict[str, Any] | None = None,
        video: str | None = None,
        poses: bool | str = True,
    ) -> Path:
        """Announce a rollout; returns the folder under which its video and poses belong.

        `video` and `poses` name files elsewhere, as they shall stand in the line.
        """
        place = f"{subset}/{sample}/{condition}"
        line: dict[str, Any] = {
            "item_id": f"{subset}:{sample}:{condition}",
            "dataset_id": self.dataset_id,
            "subset": subset,
            "sample_id": sample,
            "condition_id": condition,
            "model_id": model,
            "media": {"videos": [{"path": video or f"outputs/{place}/video.mp4", "role": "generated"}]},
        }
        if poses:
            named = poses if isinstance(poses, str) else f"artifacts/{place}/da3/results.npz"
            line["artifacts"] = {"da3": {"path": named}}
        if metadata is not None:
            line["metadata"] = metadata
        if annotations is not None:
            line["annotations"] = annotations
        self.lines.setdefault(model, []).append(line)
        folder = self.root / "models" / model
        (folder / f"outputs/{place}").mkdir(parents=True, exist_ok=True)
        if poses:
            (folder / f"artifacts/{place}/da3").mkdir(parents=True, exist_ok=True)
        return folder

    def sample(self, content: Any, *, subset: str = "environment", sample: str = "room") -> Path:
        """Write `sample.json`."""
        path = self.root / "samples" / subset / sample / "sample.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def video(self, **names: str) -> Path:
        """Where the video of a rollout lies."""
        return self._place("outputs", "video.mp4", names)

    def poses(self, **names: str) -> Path:
        """Where the poses of a rollout lie."""
        return self._place("artifacts", "da3/results.npz", names)

    def finish(self) -> Path:
        """Write `dataset.yaml` and `samples.jsonl`."""
        self.root.mkdir(parents=True, exist_ok=True)
        card = f"dataset_id: {self.dataset_id}\nversion: '1.0'\n"
        if self.extrinsics_convention:
            card += f"extrinsics_convention: {self.extrinsics_convention}\n"
        (self.root / "dataset.yaml").write_text(card)
        for model, lines in self.lines.items():
            path = self.root / "models" / model / "samples.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return self.root

    def _place(self, kind: str, name: str, names: dict[str, str]) -> Path:
        subset = names.get("subset", "environment")
        sample = names.get("sample", "room")
        condition = names.get("condition", "left_then_right_10s")
        model = names.get("model", "truth")
        return self.root / "models" / model / kind / subset / sample / condition / name


def write_poses(
    path: Path,
    camera_to_world: NDArray[np.floating],
    intrinsics: NDArray[np.floating],
    *,
    size: tuple[int, int] = (832, 480),
    depth_metres: float = 3.0,
    world_to_camera: bool = True,
    **more: Any,
) -> Path:
    """Write `results.npz`; depth maps are one pixel in eight, intrinsics scaled to them, as an estimator would."""
    count = len(camera_to_world)
    width, height = size[0] // 8, size[1] // 8
    extrinsics = np.linalg.inv(camera_to_world) if world_to_camera else camera_to_world
    scaled = intrinsics * np.array([1 / 8, 1 / 8, 1])[:, None]
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        "extrinsics": extrinsics[:, :3].astype(np.float32),
        "intrinsics": np.tile(scaled, (count, 1, 1)).astype(np.float32),
        "depth": np.full((count, height, width), depth_metres, np.float16),
    }
    np.savez(path, **{**arrays, **more})
    return path
