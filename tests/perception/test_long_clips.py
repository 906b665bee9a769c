"""Clips of 961 frames at 720p: what is requested does not grow with the length of a video."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Timeline
from lookaway.suites.revisit.published import POSES
from tests.support.watching import rollout_of


@pytest.mark.parametrize("frames", [97, 961])
def test_a_camera_is_tracked_by_as_many_small_frames_however_long_the_video_is(frames):
    timeline = Timeline(np.arange(frames) / 16, 1280, 720)
    request = POSES.load().start(rollout_of(Path("clip.mp4")), timeline, {}).request
    assert len(request.indices) == 48
    assert {0, frames - 1} <= request.indices
    assert request.height == 256
