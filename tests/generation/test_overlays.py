"""Keys that a model has drawn into its pictures are found, and clips without any are not accused."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import FrameRequest, plugins
from lookaway.generation.adapter import OverlayBoxes
from lookaway.generation.output_checks import SAMPLED_FRAMES
from lookaway.generation.overlays import find_overlay
from lookaway.io.video import Video
from lookaway.perception.opencv import load_opencv
from tests.generation.outputs import pictures
from tests.support.beside import DATA, needs_clips
from tests.support.golden import golden_arrays
from tests.support.rendered import copy_small

CLIPS = DATA / "wrbench" / "videos"
ALAYA = OverlayBoxes(width=960, height=544, boxes=((12, 420, 106, 113), (844, 420, 110, 113)))
"""Of a model that has no adapter."""
SAMPLES = {
    "matrix-game-3": "matrix_game_3",
    "matrix-game-2": "matrix_game_2_icon",
    "hy-worldplay": "hy_worldplay_with_ui",
    "sana-wm": "sana_wm",
    "alayaworld": "alayaworld",
}
"""Where the models' own code drew, by adapter."""


def known_boxes():
    cards = [plugins.load("adapters", name).card for name in plugins.names("adapters")]
    return {card.overlay for card in cards if card.overlay is not None} | {ALAYA}


def boxes_of(model):
    return ALAYA if model == "alayaworld" else plugins.load("adapters", model).card.overlay


def sampled(path):
    """The frames that a check sees."""
    with Video(path) as video:
        rows = np.unique(np.linspace(0, video.timeline.frame_count - 1, SAMPLED_FRAMES).astype(int))
        return [frame.pixels for _, frame in video.frames([FrameRequest(frozenset(rows.tolist()))])]


def resized(frames, overlay):
    size = (overlay.width, overlay.height)
    return [load_opencv().resize(frame, size, interpolation=load_opencv().INTER_AREA) for frame in frames]


def drawn_on(frames, sample):
    """Frames with an overlay, which a model draws on a picture of its own size; here in one grey, light on dark."""
    is_drawn = golden_arrays("overlays")[sample][..., None]
    return [np.where(is_drawn, 230, frame).astype(np.uint8) for frame in frames]


def test_an_overlay_on_a_picture_that_stands_still_cannot_be_told():
    overlay = boxes_of("sana-wm")
    assert find_overlay(list(pictures(1)), overlay) == "none"
    assert find_overlay(list(pictures(1, overlay=True)), overlay) == "found"
    assert find_overlay(list(pictures(1, moves=False)), overlay) == "unknown"


def test_something_that_moves_before_a_camera_that_stands_still_is_no_reason_to_accuse():
    """Edges of the room stay in the boxes, but they stay everywhere else too."""
    moving, still = list(pictures(1)), next(iter(pictures(2)))
    passing = [np.concatenate([still[:, :110], frame[:, 110:]], axis=1) for frame in moving]
    assert find_overlay(passing, boxes_of("sana-wm")) == "unknown"


@pytest.mark.merge
@pytest.mark.parametrize(("model", "sample"), SAMPLES.items())
def test_overlays_of_the_models_own_code_are_found(model, sample):
    overlay = boxes_of(model)
    clean = list(pictures(5, width=overlay.width, height=overlay.height, frames=6))
    assert find_overlay(drawn_on(clean, sample), overlay) == "found"
    assert find_overlay(clean, overlay) == "none"


@pytest.mark.merge
@needs_clips
def test_clips_of_real_models_are_accused_only_where_keys_are_drawn_on_them():
    paths = sorted(CLIPS.glob("*.mp4"))
    assert len(paths) == 10
    for path in paths:
        frames = sampled(path)
        for overlay in known_boxes():
            shown = resized(frames, overlay)
            assert find_overlay(shown, overlay) == "none", (path.name, overlay)
            assert find_overlay([shown[0]] * SAMPLED_FRAMES, overlay) == "unknown", (path.name, overlay)
        for model, sample in SAMPLES.items():
            assert find_overlay(drawn_on(resized(frames, boxes_of(model)), sample), boxes_of(model)) == "found"


@pytest.mark.merge
@pytest.mark.render
def test_no_world_clip_is_accused_and_nothing_is_said_of_a_frozen_one(tmp_path):
    """The aquarium has the densest texture of all families; before a static camera only its creatures move."""
    root = copy_small(tmp_path, families=("aquarium", "playroom"), cameras=("yaw_left_30", "static", "yaw_right_60"))
    paths = sorted(root.rglob("video.mp4"))
    assert len(paths) == 6
    for path in paths:
        frames = sampled(path)
        possible = ("none", "unknown") if "static" in str(path) else ("none",)
        for overlay in known_boxes():
            shown = resized(frames, overlay)
            assert find_overlay(shown, overlay) in possible, (path, overlay)
            assert find_overlay([shown[0]] * SAMPLED_FRAMES, overlay) == "unknown", (path, overlay)
