"""A folder of clips at 832x480 and 24 fps in which a camera turns away and comes back, with its poses."""

from __future__ import annotations

from pathlib import Path

from tests.support.clips import write_clip
from tests.support.mbench import write_poses
from tests.support.room import Room, there_and_back

FPS = 24
ACTIONS = ("left_then_right", "right_then_left", "forward_then_backward")


def write_textured_clips(root: Path, *, clips: int, seconds: float) -> Path:
    """No two clips are alike; they have few key frames, as generated ones do."""
    folder = root / "model"
    folder.mkdir(parents=True)
    for number in range(clips):
        room = Room(number)
        path = there_and_back(ACTIONS[number % len(ACTIONS)], round(seconds * FPS), return_offset_metres=0.1)
        video = folder / f"room{number}.mp4"
        write_clip(video, room.frames(path), fps=FPS, options={"preset": "veryfast", "g": "250"})
        write_poses(video.with_suffix(".poses.npz"), path, room.intrinsics)
    return root
