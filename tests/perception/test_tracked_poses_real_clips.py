"""Clips that real models generated; they lie beside the project and are not part of it.

They are looked at coarsely, for the sake of time: the side of a turn needs no more.
"""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Case, Rollout, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.io.video import Video
from lookaway.perception.poses.tracked_poses import TrackedPoses
from tests.support.beside import DATA, needs_clips

COARSE = TrackedPoses(frames=UniformFrames(21), height=192, keypoints=500)
CLIPS = DATA / "wrbench" / "videos"
pytestmark = [
    needs_clips,
    pytest.mark.nightly,
]


def peak_yaw(path):
    """Largest yaw, left below 0; nothing where the camera cannot be followed."""
    rollout = Rollout(case=Case(id=path.stem, subset="all", scene=path.stem), model="model", video=path)
    with Video(path) as video:
        watch = COARSE.load().start(rollout, video.timeline, {})
        for _, frame in video.frames([watch.request]):
            watch.add_frame(frame)
    try:
        rotations = watch.finish()["camera_to_world"]
    except Unmeasurable:
        return None
    yaw = np.degrees(np.arctan2(rotations[:, 0, 2], rotations[:, 0, 0]))
    return float(yaw[np.abs(yaw).argmax()])


def test_max_generated_clips_turn_to_the_side_that_was_asked_for():
    peaks = {path.stem: peak_yaw(path) for path in sorted(CLIPS.glob("*.mp4"))}
    assert len(peaks) == 10
    right = [name for name, yaw in peaks.items() if yaw is not None and (yaw < 0) == name.endswith("_lr")]
    assert len(right) >= 8, peaks
