"""Paths that break: the picture looks different from one frame on, so that no points can be followed over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.core import Reason, Unmeasurable, angles_degrees
from tests.perception.camera_tracking.synthetic import Cloud, follow, poses, room

POINTS = 700
"""All around; some eighty of them are in the picture."""


def yawing(yaws) -> np.ndarray:
    """[N, 4, 4] a camera that only turns."""
    return np.concatenate([poses(yaw, frames=3)[1:2] for yaw in yaws])


def look_changes(truth: np.ndarray, *frames: int):
    """What cameras see of one scene whose points look different from some frames on, in turns."""
    looks = [Cloud(room(POINTS), seed=seed).sightings(truth) for seed in (0, 1)]
    return [looks[np.searchsorted(frames, number, side="right") % 2][number] for number in range(len(truth))]


def declined(sightings) -> str:
    """Why there is no path."""
    with pytest.raises(Unmeasurable) as caught:
        follow(sightings)
    assert caught.value.reason is Reason.POSE_FAILED
    return str(caught.value)


TURN = yawing(np.linspace(0, 45, 20))


def test_the_helper_turns_as_far_as_it_says():
    assert angles_degrees(TURN[0, :3, :3], TURN[-1, :3, :3]) == pytest.approx(45)


def test_an_unbroken_path_is_one_piece():
    path = follow(look_changes(TURN))
    assert (path.pieces.tolist(), path.detail["pieces"]) == ([0] * 20, 1)
    assert "breaks" not in path.detail


def test_pieces_of_a_turn_are_joined_at_constant_velocity_and_the_break_is_listed():
    path = follow(look_changes(TURN, 10))
    assert path.pieces.tolist() == [0] * 10 + [1] * 10
    assert angles_degrees(path.camera_to_world[:, :3, :3], TURN[:, :3, :3]).max() < 0.5
    assert not path.camera_to_world[:, :3, 3].any()
    assert path.detail["pieces"] == 2
    (found,) = path.detail["breaks"]
    assert (found["before"], found["after"]) == (9, 10)
    assert found["degrees"] == pytest.approx(45 / 19, abs=0.2)
    assert found["velocities_differ"] < 0.1


def test_pieces_share_one_focal_length():
    assert follow(look_changes(TURN, 10)).focal == pytest.approx(350, rel=0.05)


def test_a_path_may_break_more_than_once():
    path = follow(look_changes(TURN, 7, 14))
    assert [(found["before"], found["after"]) for found in path.detail["breaks"]] == [(6, 7), (13, 14)]
    assert angles_degrees(path.camera_to_world[:, :3, :3], TURN[:, :3, :3]).max() < 0.7


def test_a_piece_that_the_camera_comes_back_to_is_one_piece():
    yaws = np.concatenate([np.linspace(0, 40, 15), np.linspace(40, 0, 15)])
    away = look_changes(yawing(yaws), 8, 22)
    path = follow(away)
    assert path.pieces.tolist() == [0] * 8 + [1] * 14 + [0] * 8
    assert [(found["before"], found["after"]) for found in path.detail["breaks"]] == [(7, 8), (21, 22)]
    assert angles_degrees(path.camera_to_world[:, :3, :3], yawing(yaws)[:, :3, :3]).max() < 1


def test_pieces_are_joined_where_the_camera_stops_only_for_a_moment_to_turn_back():
    yaws = np.concatenate([np.linspace(0, 40, 10), [40, 40], np.linspace(40, 0, 10)])
    path = follow(look_changes(yawing(yaws), 11))
    (found,) = path.detail["breaks"]
    assert (found["before"], found["after"], found["velocities_differ"]) == (10, 11, 0)
    assert angles_degrees(path.camera_to_world[:, :3, :3], yawing(yaws)[:, :3, :3]).max() < 0.5


def place_changes(truth: np.ndarray, frame: int):
    """A cut: from one frame on, cameras see another scene."""
    before, after = Cloud(room(POINTS)), Cloud(room(POINTS, seed=5), seed=5)
    return [*before.sightings(truth)[:frame], *after.sightings(truth)[frame:]]


def test_a_piece_that_moves_is_never_joined_to_one_that_merely_turns():
    truth = TURN.copy()
    truth[:, 0, 3] = np.concatenate([np.linspace(0, 0.6, 10), np.full(10, 0.6)])
    message = declined(look_changes(truth, 10))
    assert "frame 10 is the first that could not" in message
    assert "velocities before frame 9 and after frame 10 differ" in message


def test_a_camera_that_rests_where_the_look_changes_has_one_path():
    rests = yawing(np.clip(np.interp(np.arange(24), [0, 9, 14, 23], [0, 40, 40, 0]), 0, 40))
    path = follow(look_changes(rests, 12))
    assert path.detail["pieces"] == 2
    (found,) = path.detail["breaks"]
    assert (found["before"], found["after"], found["extrapolated"]) == (11, 12, True)
    assert found["degrees"] < 0.1
    assert found["velocities_differ"] == 0
    assert found["edges_agree"] > 0.5
    assert angles_degrees(path.camera_to_world[:, :3, :3], rests[:, :3, :3]).max() < 0.5


@pytest.mark.parametrize("way", [(0.0, 0.0, 1.5), (1.5, 0.0, 0.0)], ids=["forward", "aside"])
def test_a_camera_that_moves_and_rests_where_the_look_changes_has_one_path_in_one_unit(way):
    truth = poses(way=way, frames=30)
    path = follow(look_changes(truth, 15))
    assert (path.detail["model"], path.detail["pieces"]) == ("translation", 2)
    assert path.pieces.tolist() == [0] * 15 + [1] * 15
    assert angles_degrees(path.camera_to_world[:, :3, :3], truth[:, :3, :3]).max() < 1
    centres = path.camera_to_world[:, :3, 3]
    farthest = np.linalg.norm(centres, axis=1).max()
    # Each piece has a unit of its own, which only the depths at the break relate.
    assert np.linalg.norm(centres[-1]) < 0.15 * farthest
    assert np.linalg.norm(centres[15] - centres[14]) < 0.02 * farthest
    assert path.median_depth[-1] == pytest.approx(path.median_depth[0], rel=0.2)


def test_a_camera_that_moves_steadily_where_the_look_changes_has_one_path():
    truth = np.tile(np.eye(4), (20, 1, 1))
    truth[:, 0, 3] = np.linspace(0, 1.5, 20)
    path = follow(look_changes(truth, 10))
    assert path.detail["pieces"] == 2
    steps = np.diff(path.camera_to_world[:, 0, 3])
    assert steps.min() > 0
    assert steps[9] == pytest.approx(np.median(steps), rel=0.3)


@pytest.mark.parametrize("truth", [yawing([0] * 20), TURN], ids=["at rest", "in a steady turn"])
def test_a_cut_to_another_place_is_never_joined_however_steady_the_camera_is(truth):
    message = declined(place_changes(truth, 10))
    assert "frame 10 is the first that could not" in message
    assert "the edges of frames 9 and 10 correlate by" in message


def test_a_cut_to_another_place_of_a_moving_camera_is_declined():
    declined(place_changes(poses(way=(1.5, 0.0, 0.0), frames=30), 15))


def test_a_turn_that_stops_at_the_break_is_not_joined():
    yaws = np.concatenate([np.linspace(0, 25, 10), np.full(10, 25)])
    assert "angular velocities" in declined(look_changes(yawing(yaws), 10))


def test_pieces_that_turn_in_opposite_directions_are_not_joined():
    yaws = np.concatenate([np.linspace(0, 25, 10), np.linspace(25, 0, 10)])
    message = declined(look_changes(yawing(yaws), 10))
    assert "frame 10 is the first that could not" in message
    assert "angular velocities" in message


def test_frames_that_belong_to_no_piece_have_no_pose_and_too_many_of_them_are_declined():
    scattered = look_changes(TURN, 10)
    for number in (10, 11, 12):
        (stranger,) = Cloud(room(POINTS), seed=number).sightings(TURN[number : number + 1])
        scattered[number] = replace(stranger, frame=number)
    assert "show nothing that stays" in declined(scattered)
    path = follow(scattered, min_posed=0.8)
    assert not {10, 11, 12} & set(path.frame_indices.tolist())
