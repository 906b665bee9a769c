"""Writes small WRBench datasets by hand: prompts, a list of videos, and sidecars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.suites.wrbench.grid import EventWords, FamilyPlan, write_prompts

FAMILY = "attic_cat_box_jump"
EVENTS = {
    "none": EventWords(happens="The cat sits still.", expected="The cat sits on the floor."),
    "spatial": EventWords(happens="The cat walks to the box.", expected="The cat is at the box."),
    "state_only": EventWords(happens="The cat curls up.", expected="The cat lies on the floor."),
    "full": EventWords(happens="The cat jumps into the box.", expected="The cat is in the box."),
}


def plan(family: str = FAMILY) -> FamilyPlan:
    return FamilyPlan(
        family_id=family,
        scene="an attic",
        caption="An attic with a cat on the left and a box on the right.",
        subject="a cat",
        interactor="a box",
        anchors=("a lamp", "a chest"),
        events=dict(EVENTS),
    )


def there_and_back(degrees: float, frames: int = 81) -> np.ndarray:
    """A path that turns to the right if positive, and back."""
    out = frames // 2
    angles = np.concatenate([np.linspace(0, degrees, out), np.linspace(degrees, 0, frames - out)])
    poses = np.tile(np.eye(4), (frames, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.outer(np.radians(angles), [0.0, 1.0, 0.0])).as_matrix()
    return poses.astype(np.float32)


class WrBenchWriter:
    """A dataset of one family; videos are files without frames, since readers do not open them."""

    def __init__(self, root: Path, families: tuple[str, ...] = (FAMILY,)) -> None:
        self.root = root
        self.rows: list[dict[str, Any]] = []
        write_prompts([plan(family) for family in families], root / "natural25")
        for family in families:
            picture = root / f"natural25/first_frames/{family}.png"
            picture.parent.mkdir(exist_ok=True)
            picture.write_bytes(family.encode())
        self.write()

    def add(self, *, model: str = "alpha", camera: str = "yaw60_LR", level: str = "T2_div_b", **fields: Any) -> Path:
        """A video of the list; returns its path."""
        variant = f"{FAMILY}__{level}__none"
        path = f"videos/{model}/{variant}__{camera}.mp4"
        row = {
            "video_id": f"{variant}__{camera}",
            "variant_id": variant,
            "model": model,
            "path": path,
            "camera": camera,
            "world_state_prompt": EVENTS["full"].happens if level == "T2_div_b" else EVENTS["none"].happens,
        }
        self.rows.append({name: value for name, value in {**row, **fields}.items() if value is not ...})
        video = self.root / path
        video.parent.mkdir(parents=True, exist_ok=True)
        video.write_bytes(b"not opened")
        self.write()
        return video

    def sidecars(self, video: Path, target: np.ndarray, **declared: Any) -> None:
        """The target path of a video and what is declared about it."""
        np.save(f"{video}.target_c2w.npy", target)
        content = {"target_coordinate_convention": "opencv_c2w", "rotation_gain": 1.0, "translation_gain": 1.0}
        Path(f"{video}.camera.json").write_text(json.dumps({**content, **declared}))

    def write(self, name: str = "videos.json") -> None:
        text = json.dumps(self.rows) if name.endswith(".json") else "\n".join(map(json.dumps, self.rows))
        (self.root / name).write_text(text)
