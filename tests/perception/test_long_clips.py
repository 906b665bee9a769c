"""Clips of 961 frames at 720p: what is requested and held does not grow with the length of a video."""

from __future__ import annotations

import weakref
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Timeline
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.video import Video
from lookaway.suites.revisit.published import POSES
from lookaway.suites.revisit.suite import Revisit
from tests.support import panorama
from tests.support.clips import write_clip
from tests.support.watching import rollout_of

MAX_HELD = 24
"""Frames of pairs, and those in which carried things are looked for."""


@pytest.mark.parametrize("frames", [97, 961])
def test_a_camera_is_tracked_by_as_many_small_frames_however_long_the_video_is(frames):
    timeline = Timeline(np.arange(frames) / 16, 1280, 720)
    request = POSES.load().start(rollout_of(Path("clip.mp4")), timeline, {}).request
    assert len(request.indices) == 48
    assert {0, frames - 1} <= request.indices
    assert request.height == 256


def peak_held(monkeypatch, path, count):
    """How many frames of a video are alive at once while the suite measures it, where decoded pictures are not kept."""
    half = np.linspace(0, 48, (count + 1) // 2)
    degrees = tuple(np.concatenate([half, half[::-1]])[:count].tolist())
    write_clip(path, panorama.pictures(degrees))
    alive, peaks, read = weakref.WeakSet(), [0], Video.frames

    class Held:
        """Stands for the pixels of one frame, as long as these are held."""

    def counted(video, requests, **options):
        for position, frame in read(video, requests, **options):
            held = Held()
            weakref.finalize(frame.pixels, lambda held: None, held)
            alive.add(held)
            del held
            peaks.append(len(alive))
            yield position, frame

    monkeypatch.setattr(Video, "frames", counted)
    monkeypatch.setattr("lookaway.io.video.KEPT_BYTES", 0)
    recipes = [recipe for bound in Revisit().metrics({}) for recipe in bound.recipes.values()]
    recipes = [recipe for recipe in recipes if recipe.name in ("tracked_poses", "revisit_changes")]
    found = FeatureJob(Extractors(None), rollout_of(path), "content", recipes).run()
    assert not [value for value in found.values() if isinstance(value, Exception)]
    return max(peaks)


@pytest.mark.merge
def test_a_video_five_times_as_long_is_measured_with_no_more_frames_in_memory(monkeypatch, tmp_path):
    short = peak_held(monkeypatch, tmp_path / "short.mp4", 61)
    monkeypatch.undo()
    long = peak_held(monkeypatch, tmp_path / "long.mp4", 301)
    assert short <= MAX_HELD
    assert long <= MAX_HELD
