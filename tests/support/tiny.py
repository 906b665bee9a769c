"""Datasets small enough to be evaluated in a moment: clips of 64 by 48 pixels and 20 frames."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.support.clips import numbered_frames, write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.room import Room, there_and_back

FRAMES = 20
WIDTH, HEIGHT = 64, 48
# Metrics that need no matching of points, which alone would take seconds.
QUICK = ("mbencha.environment.rendering_lighting", "mbencha.causal.camera_interaction")


@cache
def clip_bytes(seed: int = 0) -> bytes:
    """A video."""
    with tempfile.TemporaryDirectory() as folder:
        frames = numbered_frames(FRAMES, width=WIDTH, height=HEIGHT, seed=seed)
        return write_clip(Path(folder) / "clip.mp4", frames, options={"preset": "ultrafast"}).read_bytes()


@cache
def pose_bytes(degrees: float = 40.0) -> bytes:
    """Poses of a camera that turns left and back, for such a video."""
    with tempfile.TemporaryDirectory() as folder:
        path = there_and_back("left_then_right", FRAMES, degrees=degrees)
        intrinsics = Room(0, WIDTH, HEIGHT).intrinsics
        return write_poses(Path(folder) / "results.npz", path, intrinsics, size=(WIDTH, HEIGHT)).read_bytes()


def write_mbench(
    root: Path,
    *,
    models: Sequence[str] = ("alpha",),
    samples: int = 2,
    subsets: Sequence[str] = ("environment", "causal"),
) -> MBenchWriter:
    """A finished MBench-A dataset; every clip has poses."""
    writer = MBenchWriter(root)
    for model in models:
        for subset in subsets:
            for number in range(samples):
                names = {"model": model, "subset": subset, "sample": f"sample{number}"}
                writer.add(**names, metadata={"caption": "a room"})
                writer.video(**names).write_bytes(clip_bytes(number))
                writer.poses(**names).write_bytes(pose_bytes())
    writer.finish()
    return writer


def write_folder(root: Path, *, models: Sequence[str] = ("alpha",), cases: int = 2) -> Path:
    """Bare videos as {model}/{case}.mp4."""
    for model in models:
        for number in range(cases):
            path = root / model / f"case{number}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(clip_bytes(number))
    return root
