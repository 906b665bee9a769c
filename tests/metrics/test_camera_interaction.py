from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Reason
from lookaway.metrics.camera_interaction import CameraInteraction
from tests.metrics.two_view_scenes import elsewhere, rollout
from tests.support.room import pose, there_and_back, trajectory

OPPOSITES = {
    "left_then_right": "right_then_left",
    "right_then_left": "left_then_right",
    "forward_then_backward": "backward_then_forward",
}
every_action = pytest.mark.parametrize("action", OPPOSITES)


def measure(action: str, path, **timing):
    features = {"poses": trajectory(np.asarray(path), **timing).to_feature()}
    return CameraInteraction().measure(rollout(action=action), features)


@every_action
def test_a_camera_that_does_what_was_asked_scores_one(action):
    outcome = measure(action, there_and_back(action, 41))
    assert (outcome.value, outcome.raw) == (pytest.approx(1), pytest.approx(1))


@every_action
def test_a_camera_that_does_the_opposite_scores_zero(action):
    outcome = measure(OPPOSITES[action], there_and_back(action, 41))
    assert (outcome.value, outcome.raw) == (0, pytest.approx(-1))


@every_action
def test_where_the_world_begins_and_how_long_a_metre_is_do_not_matter(action):
    path = there_and_back(action, 41, return_offset_metres=0.2)
    moved = elsewhere(path, scale=7.3)
    assert measure(action, moved, median_depth=21.9).raw == pytest.approx(measure(action, path).raw)


@every_action
def test_how_far_the_camera_went_does_not_matter(action):
    path = there_and_back(action, 41, degrees=5, metres=0.1)
    assert measure(action, path).value == pytest.approx(1)


def test_jitter_of_an_estimator_is_no_motion():
    path = there_and_back("left_then_right", 41)
    path[:, :3, 3] += np.random.default_rng(0).normal(0, 0.003, (41, 3))  # a thousandth of the depth
    assert measure("left_then_right", path).value == pytest.approx(1, abs=0.02)


def test_a_camera_that_stands_still_scores_zero():
    outcome = measure("left_then_right", np.tile(np.eye(4), (41, 1, 1)))
    assert (outcome.value, outcome.raw) == (0, 0)


def test_a_camera_that_turns_left_all_the_time_does_half_of_left_then_right():
    path = [pose(yaw_degrees=-step) for step in range(41)]
    outcome = measure("left_then_right", path)
    assert [unit.outcome.raw for unit in outcome.units] == pytest.approx([1, -1])
    assert outcome.raw == pytest.approx(0)


def test_a_sideways_move_is_no_turn():
    path = [pose(centre=(-0.05 * step, 0, 0)) for step in range(41)]
    assert measure("left", path).raw == pytest.approx(0)


def test_turning_while_moving_has_the_cosine_of_the_angle_between_both():
    path = [pose(yaw_degrees=-step, centre=tuple(0.01 * step * np.array([0.0, 1.0, 0.0]))) for step in range(41)]
    assert measure("left", path).raw == pytest.approx(np.sqrt(0.5))


def test_forward_means_along_the_camera_however_it_looks():
    direction = np.array([np.sin(np.radians(70)), 0, np.cos(np.radians(70))])
    path = [pose(yaw_degrees=70, centre=tuple(0.1 * step * direction)) for step in range(41)]
    assert measure("forward", path).value == pytest.approx(1)


def test_a_full_turn_is_followed_past_half_a_turn():
    path = [pose(yaw_degrees=-9 * step) for step in range(41)]
    assert measure("left_360", path).value == pytest.approx(1)


def test_phases_that_wait_are_not_scored():
    restless = [-20 + 2 * np.sin(step) for step in range(1, 20)]
    yaws = [*range(0, -20, -1), -20, *restless, *range(-20, 1)]
    outcome = measure("left_then_wait_then_right", [pose(yaw_degrees=yaw) for yaw in yaws])
    assert [unit.name for unit in outcome.units] == ["phase0", "phase2"]
    assert outcome.value == pytest.approx(1)


def test_poses_of_some_frames_are_put_into_the_phase_they_belong_to():
    path = there_and_back("left_then_right", 81)[40:]
    # Only the second half of the clip has poses: all of it is the way back.
    outcome = measure("left_then_right", path, frame_indices=np.arange(40, 81), frame_count=81)
    assert [unit.name for unit in outcome.units] == ["phase1"]
    assert outcome.value == pytest.approx(1)


def test_jitter_below_a_tenth_of_a_degree_is_no_turn():
    rng = np.random.default_rng(0)
    path = [pose(yaw_degrees=float(rng.uniform(-0.04, 0.04)), centre=(0, 0, 0.1 * step)) for step in range(41)]
    assert measure("forward", path).value == pytest.approx(1)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (None, Reason.MISSING_INPUT),
        ("", Reason.MISSING_INPUT),
        ("moonwalk", Reason.NOT_APPLICABLE),
        ("static", Reason.NOT_APPLICABLE),
        ("wait_then_hold", Reason.NOT_APPLICABLE),
    ],
)
def test_it_declines_a_case_without_a_motion_to_follow(action, reason):
    declined = CameraInteraction().declines(rollout(action=action))
    assert isinstance(declined, Abstention)
    assert declined.reason is reason


@every_action
def test_it_does_not_decline_an_action_that_moves(action):
    assert CameraInteraction().declines(rollout(action=action)) is None


@pytest.mark.parametrize("poses", [1, 2, 4])
def test_it_abstains_where_fewer_than_four_steps_can_be_scored(poses):
    outcome = measure("left", [pose(yaw_degrees=-step) for step in range(poses)])
    assert isinstance(outcome, Abstention)
    assert (outcome.reason, outcome.message) == (Reason.TOO_SHORT, f"{poses - 1} scored steps, at least 4 needed.")
