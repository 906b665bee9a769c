"""Whole paths from points in space: no pictures are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable, angles_degrees
from lookaway.perception.poses.tracking import follower
from tests.perception.camera_tracking.synthetic import Cloud, follow, orbit, poses, room, wall


def turn_errors(path, truth):
    return angles_degrees(path.camera_to_world[:, :3, :3], truth[path.frame_indices, :3, :3])


def direction_errors(path, truth):
    true_ways = truth[path.frame_indices, :3, 3]
    lengths = np.linalg.norm(true_ways, axis=1)
    far = lengths > 0.2 * lengths.max()
    ways, true_ways = path.camera_to_world[far, :3, 3], true_ways[far]
    cosines = np.sum(ways * true_ways, axis=1) / np.linalg.norm(ways, axis=1) / lengths[far]
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


@pytest.mark.parametrize(
    ("focal", "turn"), [(220, (60, 0)), (600, (0, -20)), (350, (-6, 0))], ids=["right", "down", "left a little"]
)
def test_a_turn_in_place_tells_rotations_and_the_focal_length(focal, turn):
    truth = poses(*turn)
    path = follow(Cloud(room(), focal=focal).sightings(truth))
    assert path.detail["model"] == "rotation"
    assert turn_errors(path, truth).max() < 0.25
    assert path.focal == pytest.approx(focal, rel=0.02)


def test_a_turn_in_place_has_one_centre_and_a_depth_of_one():
    path = follow(Cloud(room()).sightings(poses(30)))
    assert not path.camera_to_world[:, :3, 3].any()
    assert (path.median_depth == 1).all()


def test_a_camera_that_stands_still_has_identical_poses():
    path = follow(Cloud(room()).sightings(poses()))
    assert path.detail["model"] == "static"
    np.testing.assert_array_equal(path.camera_to_world, np.tile(np.eye(4), (18, 1, 1)))


@pytest.mark.parametrize(("degrees", "model"), [(0.04, "static"), (0.3, "rotation")])
def test_a_turn_too_small_to_be_known_is_none(degrees, model):
    assert follow(Cloud(room()).sightings(poses(degrees, frames=12))).detail["model"] == model


def test_going_round_a_point_tells_rotations_directions_and_the_focal_length():
    focal = 250
    truth = orbit(40)
    path = follow(Cloud(room(), focal=focal).sightings(truth))
    assert path.detail["model"] == "translation"
    assert turn_errors(path, truth).max() < 0.5
    assert direction_errors(path, truth).max() < 1
    assert path.focal == pytest.approx(focal, rel=0.02)


def test_a_turn_on_the_way_is_told_apart_from_the_way():
    truth = poses(30, way=(0.5, 0, 0.5))
    path = follow(Cloud(room(), focal=220).sightings(truth))
    assert np.median(turn_errors(path, truth)) < 0.2
    assert np.median(direction_errors(path, truth)) < 2
    assert path.focal == pytest.approx(220, rel=0.02)


@pytest.mark.parametrize("way", [(0, 0, 2), (-1.5, 0, 0)], ids=["forward", "left"])
def test_a_way_without_a_turn_tells_no_focal_length_and_keeps_the_believed_one(way):
    truth = poses(way=way)
    path = follow(Cloud(room(), focal=300).sightings(truth))
    assert path.detail["model"] == "translation"
    assert turn_errors(path, truth).max() < 0.3
    assert direction_errors(path, truth).max() < 1
    assert path.focal == pytest.approx(388, rel=0.05)  # 60 degrees on 448 pixels


def test_the_unit_of_a_path_is_the_median_depth_of_what_is_seen_first():
    truth = poses(way=(0, 0, 2))
    near, far = (follow(Cloud(room() * scale).sightings(poses(way=(0, 0, 2 * scale)))) for scale in (1, 10))
    assert near.median_depth[0] == far.median_depth[0] == 1
    assert near.median_depth.min() < 0.8
    np.testing.assert_allclose(near.camera_to_world, far.camera_to_world, atol=0.02)
    assert np.linalg.norm(near.camera_to_world[9, :3, 3]) == pytest.approx(np.linalg.norm(truth[9, :3, 3]) / 6, rel=0.2)


def test_depths_and_centres_have_one_unit_in_every_frame():
    ahead = np.random.default_rng(0).uniform([-5, -3, 6], [5, 3, 10], (400, 3))
    cloud, truth = Cloud(ahead, noise=0.1), poses(10, way=(0, 0, 4))
    path = follow(cloud.sightings(truth))
    depths = np.array([cloud.median_depth(pose) for pose in truth])
    np.testing.assert_allclose(path.median_depth, depths / depths[0], rtol=0.1)
    extents = np.linalg.norm(path.camera_to_world[:, :3, 3], axis=1)
    assert extents.max() == pytest.approx(4 / depths[0], rel=0.1)


def test_the_axes_are_those_of_the_first_frame_wherever_it_looks():
    truth = orbit(30)[5:]
    assert np.abs(truth[0] - np.eye(4)).max() > 0.1
    path = follow(Cloud(room()).sightings(truth))
    expected = np.linalg.inv(truth[0]) @ truth
    np.testing.assert_allclose(path.camera_to_world[0], np.eye(4), atol=1e-9)
    assert turn_errors(path, expected).max() < 0.5
    assert direction_errors(path, expected).max() < 2


def test_a_scene_that_is_one_wall_will_do():
    turn, way = poses(20), orbit(30)
    assert turn_errors(follow(Cloud(wall()).sightings(turn)), turn).max() < 0.25
    path = follow(Cloud(wall()).sightings(way))
    assert turn_errors(path, way).max() < 1
    assert direction_errors(path, way).max() < 2


@pytest.mark.parametrize("truth", [poses(30), orbit(30)], ids=["turns", "moves"])
def test_three_matches_in_ten_may_be_wrong(truth):
    # A match is right where both of its points are: 0.84 squared is 0.7.
    path = follow(Cloud(room(), wrong=0.16).sightings(truth))
    assert turn_errors(path, truth).max() < 0.7
    assert path.focal == pytest.approx(350, rel=0.03)


@pytest.mark.parametrize("truth", [poses(30), orbit(30)], ids=["turns", "moves"])
def test_a_quarter_of_the_scene_may_move_by_itself(truth):
    path = follow(Cloud(room(), moving=0.25).sightings(truth))
    assert turn_errors(path, truth).max() < 0.5


def test_frames_that_show_nothing_have_no_pose_and_do_not_break_the_path():
    truth = poses(30, frames=24)
    sightings = Cloud(room()).sightings(truth)
    blank = Cloud(room(2)).sightings(truth)
    sightings[10:12] = blank[10:12]
    path = follow(sightings)
    assert set(range(24)) - set(path.frame_indices.tolist()) == {10, 11}
    assert turn_errors(path, truth).max() < 0.25


def test_frames_are_named_by_their_place_in_the_video():
    sightings = Cloud(room()).sightings(poses(20, frames=12))
    moved = [replace(sighting, frame=3 * sighting.frame + 7) for sighting in sightings]
    assert follow(moved).frame_indices.tolist() == list(range(7, 43, 3))


def test_a_scene_of_which_too_few_frames_can_be_placed_is_declined():
    truth = orbit(40)
    sightings, blank = Cloud(room()).sightings(truth), Cloud(room(2)).sightings(truth)
    sightings[5:8] = blank[5:8]
    assert len(follow(sightings, min_posed=0.8).frame_indices) == 15
    assert declined(sightings)[0] is Reason.POSE_FAILED


def test_a_turn_through_a_telescope_is_declined():
    reason, message = declined(Cloud(room(20000), focal=1500).sightings(poses(12)))
    assert reason is Reason.POSE_FAILED
    assert "focal length" in message


def declined(sightings, **fields):
    with pytest.raises(Unmeasurable) as caught:
        follow(sightings, **fields)
    return caught.value.reason, str(caught.value)


def test_too_few_points_are_declined():
    reason, message = declined(Cloud(room(120)).sightings(poses(20)))
    assert reason is Reason.POSE_FAILED
    assert "too little texture" in message


def test_frames_that_have_nothing_in_common_are_declined():
    reason, message = declined([Cloud(room(), seed=seed).sightings(poses(frames=1))[0] for seed in range(4)])
    assert reason is Reason.POSE_FAILED
    assert "in common" in message


def test_a_cut_in_the_middle_is_declined_and_said_where():
    truth = poses(20)
    before, after = (Cloud(room(seed=seed), seed=seed).sightings(truth) for seed in (0, 1))
    reason, message = declined(before[:9] + after[9:])
    assert reason is Reason.POSE_FAILED
    assert "9 of 18 frames" in message
    assert "frame 9 is the first" in message


def test_a_picture_that_moves_like_no_rigid_scene_is_declined():
    random = np.random.default_rng(0)
    clouds = [Cloud(room() + random.normal(0, 0.4, (1500, 3))) for _ in range(8)]
    reason, _ = declined([cloud.sightings(poses(20, frames=8))[number] for number, cloud in enumerate(clouds)])
    assert reason is Reason.POSE_FAILED


def test_a_way_along_which_no_scene_can_be_built_is_not_taken_for_a_turn(monkeypatch):
    monkeypatch.setattr(follower, "fit_moving", lambda *_: None)
    reason, message = declined(Cloud(room()).sightings(orbit(12)))
    assert reason is Reason.POSE_FAILED
    assert "neither as if the camera only turned" in message


def test_one_frame_is_too_short():
    reason, _ = declined(Cloud(room()).sightings(poses(frames=1)))
    assert reason is Reason.TOO_SHORT
