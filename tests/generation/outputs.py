"""Small outputs of a model for a plan, and ways to damage them."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np

from lookaway.core import plugins
from lookaway.generation.export import export_cases
from lookaway.generation.work_plan import PLAN, RUN_RECORD, read_plan
from lookaway.io.encoding import write_video
from tests.generation.golden import request, there_and_back

WIDTH, HEIGHT, FPS = 160, 88, 16
BOXES = ((2, 66, 28, 20), (32, 66, 20, 20))
KINDS = {
    "collision": "collision",
    "truncated": "truncated",
    "wrong_rate": "wrong_fps",
    "wrong_size": "wrong_size",
    "overlay": "overlay",
    "twin": "upscaled_twin",
    "stale": "stale",
    "missing": "missing",
    "extra": "extra",
    "renamed": "renamed",
    "other_seed": "other_seed",
    "frozen": "frozen",
    "black": "black",
}
"""Every damage and the kind that it is found as."""


def made_plan(work, count):
    """A plan for SANA-WM at a tiny size: 8 frames of 160x88."""
    requests = [request(there_and_back(frames=9), case=f"scene/{number:03d}") for number in range(count)]
    export_cases(requests, plugins.load("adapters", "sana-wm")(), (0,), work)
    items = [item.model_copy(update={"width": WIDTH, "height": HEIGHT}) for item in read_plan(work)]
    (work / PLAN).write_text("".join(f"{item.model_dump_json()}\n" for item in items))
    return items


def pictures(seed, *, frames=8, width=WIDTH, height=HEIGHT, moves=True, overlay=False, brightness=1.0):
    """A texture that passes by, with keys on it if asked for."""
    random = np.random.default_rng(seed)
    coarse = random.integers(0, 256, (height // 16 + 10, width // 16 + 12, 3), np.uint8)
    wide = (coarse.repeat(16, axis=0).repeat(16, axis=1) * brightness).astype(np.uint8)
    for number in range(frames):
        left, top = (11 * number, 7 * number) if moves else (0, 0)
        picture = wide[top : top + height, left : left + width].copy()
        if overlay:
            for x, y, box_width, box_height in BOXES:
                picture[y : y + box_height, x : x + box_width] = 30
                picture[y + 3 : y + box_height - 3 : 6, x + 3 : x + box_width - 3] = 250
        yield picture


def made_output(outputs, item, seed, damage=None):
    """The output of an item, whole or damaged."""
    folder = outputs / item.folder
    folder.mkdir(parents=True)
    video = folder / item.output
    form = {
        "truncated": {"frames": 5},
        "wrong_size": {"width": HEIGHT, "height": WIDTH},
        "overlay": {"overlay": True},
        "frozen": {"moves": False},
        "black": {"brightness": 0.0},
    }.get(damage, {})
    if damage != "missing":
        write_video(video, pictures(seed, **form), fps=8 if damage == "wrong_rate" else FPS)
    record = {
        "plan_sha256": item.sha256,
        "seed": 7 if damage == "other_seed" else item.seed,
        "started": 1,
        "finished": 9,
    }
    (folder / RUN_RECORD).write_text(json.dumps(record))
    if damage == "twin":
        video.rename(folder / "result_stage1_generated.mp4")
    elif damage == "renamed":
        video.rename(folder / "my video.mp4")
    elif damage == "extra":
        shutil.copy(video, outputs / f"other-{seed}.mp4")
    elif damage == "stale":
        os.utime(video, (item.exported - 100, item.exported - 100))


def damaged_outputs(outputs, items, each):
    """Damages `each` of every kind among the first items; returns the damage of each damaged folder."""
    damages = [kind for kind in KINDS for _ in range(each)]
    found = {}
    for number, item in enumerate(items):
        damage = damages[number] if number < len(damages) else None
        # All of one collision have one content.
        made_output(outputs, item, 0 if damage == "collision" else number + 1, damage)
        if damage:
            found[item.folder] = damage
    return found
