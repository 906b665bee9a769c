from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.calibration.calibrate import with_look
from lookaway.calibration.clip_changes import (
    CHANGES,
    CONTROLS,
    NUISANCES,
    change_rollout,
    edit_frames,
    find_change,
    frame_rate,
    looped,
    random_of,
    read_frames,
)
from lookaway.core import Case, Rollout, UnknownName, UserError
from lookaway.engine.inline import Inline
from lookaway.engine.reading import read
from lookaway.io.encoding import write_video
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip
from tests.support.rendered import copy_small

FPS, COUNT, HEIGHT, WIDTH = 12, 9, 32, 48


def frames_of(shade: int = 0) -> np.ndarray:
    """Every frame has another grey, and a light upper half."""
    greys = np.linspace(40, 160, COUNT).astype(np.uint8) + shade
    frames = np.broadcast_to(greys[:, None, None, None], (COUNT, HEIGHT, WIDTH, 3)).copy()
    frames[:, : HEIGHT // 2] += 40
    return frames


def rollout_of(root: Path, scene: str = "kitchen-0", shade: int = 0) -> Rollout:
    video = root / f"{scene}.mp4"
    write_video(video, frames_of(shade), FPS)
    return Rollout(
        case=Case(id=scene, subset="none", scene=scene),
        model="perfect",
        video=video,
        phases={"visible": (0, 4), "disappeared": (4, 6), "reappeared": (6, 9)},
    )


@pytest.fixture
def rollout(tmp_path) -> Rollout:
    return rollout_of(tmp_path)


def grey(frames: np.ndarray) -> np.ndarray:
    """Mean of the lower half of every frame."""
    return frames[:, HEIGHT // 2 + 4 : -4].mean(axis=(1, 2, 3))


def shown(rollout: Rollout, name: str, frames: np.ndarray | None = None) -> np.ndarray:
    change, rng = CHANGES[name], random_of(CHANGES[name], rollout)
    frames = frames_of() if frames is None else frames
    return edit_frames(frames if change.order is None else frames[change.order(len(frames), rng)], change, rng)


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_clip_is_a_video_with_even_sides_that_depends_on_the_clip_alone(rollout, name):
    change, once, again = CHANGES[name], shown(rollout, name), shown(rollout, name)
    np.testing.assert_array_equal(once, again)
    assert once.dtype == np.uint8
    assert once.shape[1] % 2 == once.shape[2] % 2 == 0
    assert change.summary


def test_controls_and_nuisances_have_names_of_their_own():
    assert not CONTROLS.keys() & NUISANCES.keys()
    assert {change.kind for change in CONTROLS.values()} == {"control"}
    with pytest.raises(UnknownName, match="Did you mean 'frozen'"):
        find_change("frosen")


def test_a_frozen_clip_shows_its_first_frame_throughout(rollout):
    assert (shown(rollout, "frozen") == frames_of()[0]).all()


def test_a_reversed_clip_ends_with_its_first_frame(rollout):
    np.testing.assert_array_equal(shown(rollout, "reversed")[-1], frames_of()[0])


def test_a_shuffled_clip_has_the_same_frames_in_another_order(rollout):
    found = grey(shown(rollout, "shuffled"))
    assert sorted(found) == sorted(grey(frames_of()))
    assert list(found) != sorted(found)


@pytest.mark.parametrize("count", [8, 9])
def test_a_looped_clip_is_as_long_and_returns_to_its_first_frame(count):
    found = frames_of()[looped(count, np.random.default_rng(0))]
    assert len(found) == count
    np.testing.assert_array_equal(found[-1], found[0])


def test_an_overlay_keeps_half_of_the_first_frame(rollout):
    np.testing.assert_allclose(grey(shown(rollout, "overlay"))[-1], (40 + 160) / 2, atol=1)


def test_noise_has_nothing_of_the_clip(rollout):
    assert np.corrcoef(shown(rollout, "noise")[0].ravel(), frames_of()[0].ravel())[0, 1] < 0.1


def test_a_letterbox_is_black_above_and_below_and_nothing_else(rollout):
    found = shown(rollout, "letterbox")
    assert not found[:, :3].any()
    assert not found[:, -3:].any()
    np.testing.assert_array_equal(found[:, 3:-3], frames_of()[:, 3:-3])


def test_a_narrow_range_maps_black_and_white_to_16_and_235(rollout):
    frames = np.stack([np.zeros((2, 2, 3)), np.full((2, 2, 3), 255)]).astype(np.uint8)
    assert shown(rollout, "narrow_range", frames)[:, 0, 0, 0].tolist() == [16, 235]


@pytest.mark.parametrize(
    ("name", "count", "fps", "reappeared"),
    [
        ("half_rate", 5, 6, (3, 5)),
        ("double_rate", 18, 24, (12, 18)),
        ("trimmed", 8, 12, (6, 8)),
        ("crf35", 9, 12, (6, 9)),
    ],
)
def test_another_rate_changes_times_and_phases(rollout, tmp_path, name, count, fps, reappeared):
    found = change_rollout(rollout, CHANGES[name], tmp_path / "changed")
    with Video(found.video) as video:
        assert video.timeline.frame_count == count
        assert frame_rate(video.timeline.times_seconds.tolist()) == fps
    assert found.phases["reappeared"] == reappeared
    assert found.model == f"perfect+{name}"


def test_a_changed_clip_that_is_there_is_kept(rollout, tmp_path):
    first = change_rollout(rollout, CHANGES["grain"], tmp_path).video
    before = first.stat().st_mtime_ns
    assert change_rollout(rollout, CHANGES["grain"], tmp_path).video == first
    assert first.stat().st_mtime_ns == before


def test_the_wrong_scene_shows_another_clip_under_the_same_case(rollout, tmp_path):
    other = rollout_of(tmp_path, "garden-0", shade=50)
    found = change_rollout(rollout, CHANGES["wrong_scene"], tmp_path / "changed", other)
    assert found.case == rollout.case
    np.testing.assert_allclose(grey(read_frames(found.video)), grey(frames_of(50)), atol=3)


def test_a_single_scene_has_no_wrong_scene(rollout, tmp_path):
    with pytest.raises(UserError, match="needs a clip of another scene"):
        change_rollout(rollout, CHANGES["wrong_scene"], tmp_path, rollout)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> Rollout:
    """A clean clip of the simulated world."""
    root = copy_small(tmp_path_factory.mktemp("changes") / "world", events=("none",))
    (found,) = read(root).rollouts
    return found


@pytest.mark.render
@pytest.mark.parametrize("name", [name for name, change in CHANGES.items() if change.order])
def test_the_truth_of_frames_in_another_order_is_in_that_order(rendered, tmp_path, name):
    change = CHANGES[name]
    found = change_rollout(rendered, change, tmp_path)
    before, after = (WorldClip.open(one.artifacts["truth"].parent) for one in (rendered, found))
    assert after.check() == []
    order = change.order(before.card.frames, random_of(change, rendered))
    np.testing.assert_array_equal(after.arrays().camera_to_world, before.arrays().camera_to_world[order])
    np.testing.assert_array_equal(list(after.depth())[-1], list(before.depth())[order[-1]])
    assert after.card.frames == len(read_frames(found.video)) == len(order)
    assert found.phases == {name: getattr(after.card.phases, name) for name in found.phases}


@pytest.mark.render
def test_a_frozen_video_was_asked_to_move_and_did_not(rendered, tmp_path):
    found = change_rollout(rendered, CHANGES["frozen"], tmp_path)
    arrays = WorldClip.open(found.artifacts["truth"].parent).arrays()
    assert np.ptp(arrays.camera_to_world, axis=0).max() == 0
    assert np.ptp(arrays.requested_camera_to_world, axis=0).max() > 0.1


@pytest.mark.render
def test_a_nuisance_that_keeps_all_frames_keeps_their_truth_and_noise_has_none(rendered, tmp_path):
    assert change_rollout(rendered, CHANGES["crf28"], tmp_path).artifacts == rendered.artifacts
    assert change_rollout(rendered, CHANGES["noise"], tmp_path).artifacts == {}


@pytest.mark.render
def test_jitter_moves_the_true_camera_by_its_part_of_the_depth_and_leaves_video_and_request_alone(rendered, tmp_path):
    before = WorldClip.open(rendered.artifacts["truth"].parent)
    depth = float(np.median(next(before.depth())))
    for name, part in (("pose_jitter_0.1", 0.001), ("pose_jitter_2", 0.02)):
        found = change_rollout(rendered, CHANGES[name], tmp_path)
        after = WorldClip.open(found.artifacts["truth"].parent)
        moved = after.arrays().camera_to_world - before.arrays().camera_to_world
        assert 0.7 * part * depth < moved[:, :3, 3].std() < 1.3 * part * depth
        assert not moved[:, :3, :3].any()
        np.testing.assert_array_equal(
            after.arrays().requested_camera_to_world, before.arrays().requested_camera_to_world
        )
        assert found.video == rendered.video
        assert change_rollout(rendered, CHANGES[name], tmp_path) == found


@pytest.mark.render
def test_a_look_is_given_to_every_clip_of_a_world_and_to_no_reference(tmp_path):
    root = copy_small(tmp_path / "world", events=("none",), faults=("vanish",), severities=(1.0,))
    world = read(root)
    found = with_look(world, "generator_like", tmp_path / "changed", Inline())
    assert [rollout.model for rollout in found.rollouts] == [f"{r.model}+generator_like" for r in world.rollouts]
    assert len({rollout.video for rollout in found.rollouts}) == len(world.rollouts) == 2
    for before, after in zip(world.rollouts, found.rollouts, strict=True):
        assert (after.case, after.artifacts) == (before.case, before.artifacts)
        apart = np.abs(read_frames(after.video).astype(int) - read_frames(before.video)).mean()
        assert 2 < apart < 20
    assert with_look(world, "clean", tmp_path / "changed", Inline()) is world
