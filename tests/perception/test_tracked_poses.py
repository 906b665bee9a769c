from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Case, Frame, Reason, Rollout, Timeline, Trajectory, Unmeasurable, angles_degrees
from lookaway.io.sampling import EveryFrame, UniformFrames
from lookaway.io.video import Video
from lookaway.io.world_clips import open_world
from lookaway.perception.poses.tracked_poses import TrackedPoses
from tests.support.rendered import copy_clips
from tests.support.room import Room, pose
from tests.support.world import small

pytestmark = pytest.mark.render

ROLLOUT = Rollout(case=Case(id="clip", subset="all", scene="clip"), model="model", video=Path("clip.mp4"))
FORM = {"width": 320, "height": 192, "fps": 6, "seconds": 3.0, "wait": 0.5}
CLIPS = {
    "yaw_left_30": ("playroom", "both"),
    "forward_backward": ("playroom", "none"),
    "orbit_left": ("playroom", "none"),
}


def track(path, recipe=None):
    with Video(path) as video:
        watch = (recipe or TrackedPoses()).load().start(ROLLOUT, video.timeline, {})
        for _, frame in video.frames([watch.request]):
            watch.add_frame(frame)
    return watch.finish()


def show(pictures, recipe=None):
    height, width = pictures[0].shape[:2]
    watch = (recipe or TrackedPoses()).load().start(ROLLOUT, Timeline(np.arange(len(pictures)) / 8, width, height), {})
    for index in sorted(watch.request.indices):
        watch.add_frame(Frame(index, index / 8, pictures[index]))
    return watch.finish()


def yaw_degrees(rotations):
    return np.degrees(np.arctan2(rotations[:, 0, 2], rotations[:, 0, 0]))


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    recipes = [small(camera=camera, family=family, event=event, **FORM) for camera, (family, event) in CLIPS.items()]
    copy_clips(recipes, root)
    return {clip.card.camera: clip for clip in open_world(root)}


@pytest.fixture(scope="module")
def tracked(clips):
    return {camera: track(clip.video) for camera, clip in clips.items()}


def errors(feature, clip):
    """Angles of rotations, and of the ways of cameras that are far from their first place."""
    path, truth = Trajectory.from_feature(feature), clip.trajectory()
    turns = truth.rotations[0].T @ truth.rotations[path.frame_indices]
    ways = (truth.centres[path.frame_indices] - truth.centres[0]) @ truth.rotations[0]
    lengths = np.linalg.norm(ways, axis=1)
    far = lengths > 0.2 * max(lengths.max(), 1e-6)
    cosines = np.sum(path.centres[far] * ways[far], axis=1) / np.linalg.norm(path.centres[far], axis=1) / lengths[far]
    return angles_degrees(path.rotations, turns), np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def test_a_turn_is_followed_to_a_fifth_of_a_degree_even_where_the_target_moves(clips, tracked):
    feature, clip = tracked["yaw_left_30"], clips["yaw_left_30"]
    turns, _ = errors(feature, clip)
    assert feature.detail["model"] == "rotation"
    assert len(turns) == 18
    assert turns.max() < 0.2
    assert feature["intrinsics"][0, 0, 0] == pytest.approx(clip.arrays().intrinsics[0, 0], rel=0.01)
    assert not feature["camera_to_world"][:, :3, 3].any()


def test_left_is_below_zero(tracked):
    yaw = yaw_degrees(tracked["yaw_left_30"]["camera_to_world"])
    assert yaw[np.abs(yaw).argmax()] == pytest.approx(-29.7, abs=0.7)


@pytest.mark.parametrize("camera", ["forward_backward", "orbit_left"])
def test_a_way_is_followed_in_its_turns_and_directions(camera, clips, tracked):
    turns, directions = errors(tracked[camera], clips[camera])
    assert tracked[camera].detail["model"] == "translation"
    assert len(turns) == 18
    assert np.median(turns) < 0.5
    # A way without a turn does not tell the focal length, and the believed one is off by a sixth.
    assert np.median(directions) < 3


def test_a_turn_has_no_way_and_a_way_has_one(tracked):
    turn, way = (Trajectory.from_feature(tracked[camera]) for camera in ("yaw_left_30", "orbit_left"))
    assert not turn.relative_centres(0.02).any()
    assert np.linalg.norm(way.relative_centres(0.02), axis=1).max() == pytest.approx(1)


def test_depths_and_centres_have_one_unit(clips, tracked):
    path, truth = Trajectory.from_feature(tracked["orbit_left"]), clips["orbit_left"].trajectory()
    extent, true_extent = (np.linalg.norm(one.centres - one.centres[0], axis=1).max() for one in (path, truth))
    # The points found are not spread over the picture as its pixels are.
    assert extent / path.median_depth[0] == pytest.approx(true_extent / truth.median_depth[0], rel=0.5)


def test_the_principal_point_is_the_middle_of_the_picture_and_pixels_are_square(tracked):
    for feature in tracked.values():
        focal = feature.detail["focal_pixels"]
        expected = np.array([[focal, 0, 160], [0, focal, 96], [0, 0, 1]])
        np.testing.assert_allclose(feature["intrinsics"], np.broadcast_to(expected, (18, 3, 3)))


def test_the_depth_of_the_scene_changes_as_the_camera_comes_nearer(clips, tracked):
    feature, truth = tracked["forward_backward"], clips["forward_backward"].trajectory()
    assert feature["median_depth"][0] == 1
    nearest = np.linalg.norm(truth.centres - truth.centres[0], axis=1).argmax()
    assert feature["median_depth"][nearest] < 0.9


def test_two_runs_give_identical_arrays(clips, tracked):
    again = track(clips["orbit_left"].video)
    assert again.detail == tracked["orbit_left"].detail
    for name, array in tracked["orbit_left"].arrays.items():
        np.testing.assert_array_equal(again[name], array)


def test_fewer_frames_at_another_size_give_the_same_path(clips, tracked):
    clip = clips["yaw_left_30"]
    coarse = track(clip.video, TrackedPoses(frames=EveryFrame(2), height=144))
    assert coarse["frame_indices"].tolist() == list(range(0, 18, 2))
    assert coarse["size"].tolist() == tracked["yaw_left_30"]["size"].tolist() == [320, 192, 18]
    assert errors(coarse, clip)[0].max() < 0.4
    assert coarse["intrinsics"][0, 0, 0] == pytest.approx(tracked["yaw_left_30"]["intrinsics"][0, 0, 0], rel=0.02)


def test_the_feature_holds_what_the_recipe_says(tracked):
    for feature in tracked.values():
        assert set(feature.arrays) == set(TrackedPoses.arrays)
        for name, array in feature.arrays.items():
            assert TrackedPoses.arrays[name].startswith(f"{array.dtype} ["), name
        facts = {"model", "focal_pixels", "inliers", "matches", "reprojection_error_pixels", "frames_looked_at"}
        assert facts <= set(feature.detail)
        assert 0 <= feature.detail["reprojection_error_pixels"] < 0.5
        assert 0.8 * feature.detail["matches"] < feature.detail["inliers"] <= feature.detail["matches"]


def test_a_long_clip_is_looked_at_in_a_bounded_number_of_frames():
    timeline = Timeline(np.arange(400) / 24, 832, 480)
    request = TrackedPoses().load().start(ROLLOUT, timeline, {}).request
    assert len(request.indices) == 120
    assert {0, 399} <= request.indices
    assert request.height == 320


def test_a_small_video_is_not_enlarged():
    timeline = Timeline(np.arange(10) / 8, 224, 128)
    assert TrackedPoses().load().start(ROLLOUT, timeline, {}).request.height == 128


def test_a_camera_that_stands_still_before_a_room_does_not_move():
    picture = Room(seed=3, width=320, height=240).render(pose())
    feature = show([picture] * 6)
    assert feature.detail["model"] == "static"
    np.testing.assert_array_equal(feature["camera_to_world"], np.tile(np.eye(4), (6, 1, 1)))


@pytest.mark.parametrize(("width", "height"), [(320, 240), (240, 320)], ids=["wide", "tall"])
def test_a_clip_that_does_not_move_keeps_the_believed_field_of_view_across_the_longer_side(width, height):
    feature = show([Room(seed=3, width=width, height=height).render(pose())] * 3)
    assert feature["intrinsics"][0, 0, 0] == pytest.approx(160 / np.tan(np.radians(30)), rel=0.01)


def declined(pictures, **fields):
    with pytest.raises(Unmeasurable) as caught:
        show(pictures, replace(TrackedPoses(), **fields))
    return caught.value.reason


def test_pictures_without_texture_are_declined():
    assert declined([np.full((240, 320, 3), 90, np.uint8)] * 6) is Reason.POSE_FAILED


def test_a_cut_to_another_room_is_declined():
    rooms = [Room(seed=seed, width=320, height=240).render(pose()) for seed in (3, 4)]
    assert declined([rooms[0]] * 6 + [rooms[1]] * 6) is Reason.POSE_FAILED


def test_noise_is_declined():
    random = np.random.default_rng(0)
    assert declined([random.integers(0, 256, (120, 160, 3), np.uint8) for _ in range(4)]) is Reason.POSE_FAILED


def test_a_single_frame_is_too_short():
    picture = Room(seed=3, width=320, height=240).render(pose())
    assert declined([picture], frames=UniformFrames(1)) is Reason.TOO_SHORT


def test_poses_are_rotations_and_frames_increase(tracked):
    for feature in tracked.values():
        rotations = feature["camera_to_world"][:, :3, :3]
        np.testing.assert_allclose(
            rotations @ rotations.transpose(0, 2, 1), np.broadcast_to(np.eye(3), rotations.shape), atol=1e-9
        )
        assert all(first < second for first, second in pairwise(feature["frame_indices"].tolist()))
        np.testing.assert_allclose(feature["camera_to_world"][0], np.eye(4), atol=1e-9)
