"""A small clip of the simulated world on disk, made without drawing anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lookaway.io.clip_card import ClipArrays, ClipCard, hash_arrays, hash_pictures, write_clip_arrays
from lookaway.io.encoding import write_video
from lookaway.io.files import write_json
from lookaway.io.planes import write_planes
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH, INSTANCES, VIDEO
from tests.support.clips import numbered_frames

FRAMES, THINGS, WIDTH, HEIGHT = 6, 3, 64, 48
FOLDER = "clips/room-none-static-000/perfect/0"


def instance_planes() -> list[np.ndarray]:
    """A target that wanders, and two things that stand still, below a sky."""
    planes = []
    for index in range(FRAMES):
        plane = np.zeros((HEIGHT, WIDTH), np.uint8)
        plane[20:] = 2
        plane[10:30, 40:50] = 3
        plane[20:30, 5 + index : 15 + index] = 1
        planes.append(plane)
    return planes


def depth_planes() -> list[np.ndarray]:
    """Millimetres; nothing but the sky is 0."""
    return [np.where(plane > 0, 1000 * plane.astype(np.uint16) + 7, 0).astype(np.uint16) for plane in instance_planes()]


def clip_arrays() -> ClipArrays:
    """A camera that stands still, and things that drift."""
    rng = np.random.default_rng(0)
    areas = [[int((plane == thing).sum()) for thing in (1, 2, 3)] for plane in instance_planes()]
    return ClipArrays(
        camera_to_world=np.tile(np.eye(4), (FRAMES, 1, 1)),
        requested_camera_to_world=np.tile(np.eye(4), (FRAMES, 1, 1)),
        intrinsics=np.array([[50.0, 0, 32], [0, 50, 24], [0, 0, 1]]),
        timestamps=np.arange(FRAMES) / 8,
        position=rng.random((FRAMES, THINGS, 3)),
        quaternion_wxyz=np.tile([1.0, 0, 0, 0], (FRAMES, THINGS, 1)),
        opacity=np.ones((FRAMES, THINGS)),
        progress=np.zeros((FRAMES, 2)),
        visible_area=np.array(areas, np.int64),
        scene_time=np.arange(FRAMES) / 8,
    )


def card_fields() -> dict[str, Any]:
    """All of a valid `clip.json`."""
    roles = ("target", "structure", "prop")
    return {
        "format": 1,
        "world_version": 1,
        "case": "room-none-static-000",
        "family": "room",
        "event": "none",
        "camera": "static",
        "seed": 0,
        "model": "perfect",
        "take": 0,
        "injections": [],
        "width": WIDTH,
        "height": HEIGHT,
        "fps": 8,
        "frames": FRAMES,
        "seconds": FRAMES / 8,
        "wait": 0.25,
        "place": "a room",
        "things": [
            {
                "id": number,
                "name": f"thing {number}",
                "role": role,
                "is_movable": False,
                "diameter_metres": 0.5,
                "moves_by_itself": False,
            }
            for number, role in enumerate(roles, start=1)
        ],
        "target_box": [0.2, 0.5, 0.1, 0.2],
        "motion": "rolls",
        "process": ["melts", "whole", "molten"],
        "light_flicker_stops": 0.0,
        "phases": {
            "visible": [0, 2],
            "disappeared": [2, 4],
            "reappeared": [4, FRAMES],
            "causes": [["visible", 0, 2], ["out_of_view", 2, 4], ["visible", 4, FRAMES]],
        },
        "caption": "a room",
        "caption_segments": ["1", "2", "3", "4", "5"],
        "action": "static",
        "question": {"question": "where?", "choices": ["here", "there"], "answer": "here"},
        "depth_metres_per_step": 0.001,
        "software": {"numpy": np.__version__},
        "hashes": {
            "frames": hash_pictures(numbered_frames(FRAMES, width=WIDTH, height=HEIGHT)),
            "depth": hash_pictures(depth_planes()),
            "instances": hash_pictures(instance_planes()),
            "arrays": hash_arrays(clip_arrays().named()),
        },
    }


def write_clip_folder(folder: Path, **changes: Any) -> ClipCard:
    """A whole clip, with other values for some fields of its card."""
    write_video(folder / VIDEO, numbered_frames(FRAMES, width=WIDTH, height=HEIGHT), 8)
    write_planes(folder / DEPTH, depth_planes())
    write_planes(folder / INSTANCES, instance_planes())
    write_clip_arrays(folder / ARRAYS, clip_arrays())
    fields = {**card_fields(), **changes}
    write_json(folder / CARD, fields)
    return ClipCard.model_validate(fields)
