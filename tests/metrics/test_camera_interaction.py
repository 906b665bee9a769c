from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason
from lookaway.core.trajectory import EXTENT_AS_DEPTH
from lookaway.metrics.camera_interaction import CameraFollowing, CameraInteraction, CameraLeakage
from tests.metrics.two_view_scenes import elsewhere, rollout
from tests.support.room import pose, there_and_back, trajectory

OPPOSITES = {
    "left_then_right": "right_then_left",
    "right_then_left": "left_then_right",
    "forward_then_backward": "backward_then_forward",
}
every_action = pytest.mark.parametrize("action", OPPOSITES)


def measure(action: str, path, metric=None, **timing):
    features = {"poses": trajectory(np.asarray(path), **timing).to_feature()}
    return (metric or CameraInteraction()).measure(rollout(action=action), features)


def with_centre_noise(path, part_of_depth: float):
    """Poses of an estimator; the median depth of the room is 3."""
    noisy = np.array(path)
    noisy[:, :3, 3] += np.random.default_rng(0).normal(0, 3 * part_of_depth, (len(path), 3))
    return noisy


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


def test_the_row_says_whether_translations_were_counted():
    turn = there_and_back("left_then_right", 41)
    assert measure("left_then_right", turn).detail["translations"] == "none, or jitter"
    assert measure("left_then_right", with_centre_noise(turn, 0.01)).detail["translations"] == "counted"


class TestFollowing:
    METRIC = CameraFollowing()

    @every_action
    def test_a_camera_that_does_what_was_asked_scores_one(self, action):
        assert measure(action, there_and_back(action, 41), self.METRIC).value == pytest.approx(1)

    @every_action
    def test_a_camera_that_does_the_opposite_scores_zero(self, action):
        outcome = measure(OPPOSITES[action], there_and_back(action, 41), self.METRIC)
        assert (outcome.value, outcome.raw) == (0, pytest.approx(-1))

    @pytest.mark.parametrize("noise", [0.005, 0.01])
    def test_noise_in_the_centres_does_not_hide_a_perfect_turn(self, noise):
        path = with_centre_noise(there_and_back("left_then_right", 81, degrees=60), noise)
        assert measure("left_then_right", path, self.METRIC).value == pytest.approx(1)

    def test_the_published_number_mistakes_such_noise_for_another_motion(self):
        path = with_centre_noise(there_and_back("left_then_right", 81, degrees=60), 0.01)
        assert measure("left_then_right", path).value < 0.1

    @every_action
    def test_where_the_world_begins_and_how_long_a_metre_is_do_not_matter(self, action):
        path = there_and_back(action, 41, return_offset_metres=0.2)
        moved = measure(action, elsewhere(path, scale=7.3), self.METRIC, median_depth=21.9)
        assert moved.raw == pytest.approx(measure(action, path, self.METRIC).raw)

    def test_a_camera_that_stands_still_scores_zero(self):
        assert measure("left_then_right", np.tile(np.eye(4), (41, 1, 1)), self.METRIC).value == 0

    def test_a_camera_that_only_trembles_scores_next_to_nothing(self):
        still = with_centre_noise(np.tile(np.eye(4), (41, 1, 1)), 0.01)
        assert measure("forward_then_backward", still, self.METRIC).value < 0.1

    def test_a_camera_that_turns_left_all_the_time_does_half_of_left_then_right(self):
        outcome = measure("left_then_right", [pose(yaw_degrees=-step) for step in range(41)], self.METRIC)
        assert [unit.outcome.raw for unit in outcome.units] == pytest.approx([1, -1])

    def test_a_turn_to_and_fro_within_a_phase_leads_nowhere(self):
        yaws = [0, -5] * 20
        outcome = measure("left", [pose(yaw_degrees=yaw) for yaw in yaws], self.METRIC)
        assert outcome.value == pytest.approx(0, abs=0.03)

    def test_the_row_says_which_motion_was_asked_for(self):
        path = there_and_back("left_then_right", 41)
        assert measure("left_then_right", path, self.METRIC).detail["motion"] == "turn"
        assert measure("left_then_forward", path, self.METRIC).detail["motion"] == "move and turn"

    def test_too_few_steps_are_declined(self):
        outcome = measure("left", [pose(yaw_degrees=-step) for step in range(4)], self.METRIC)
        assert (type(outcome), outcome.reason) == (Abstention, Reason.TOO_SHORT)

    @pytest.mark.parametrize("action", [None, "moonwalk", "wait"])
    def test_an_action_without_a_known_motion_is_declined(self, action):
        assert isinstance(self.METRIC.declines(rollout(action=action)), Abstention)


class TestLeakage:
    METRIC = CameraLeakage()

    @every_action
    def test_a_camera_that_does_nothing_else_leaks_nothing(self, action):
        assert measure(action, there_and_back(action, 41), self.METRIC).value == pytest.approx(0, abs=1e-9)

    def test_a_sideways_move_in_place_of_a_turn_leaks_all(self):
        assert measure("left", [pose(centre=(-0.05 * step, 0, 0)) for step in range(41)], self.METRIC).value == 1

    def test_it_is_the_part_across_the_requested_axis_with_lengths_in_depths(self):
        turned = np.radians(40)
        path = [pose(yaw_degrees=-step, centre=(0, 3 * turned * step / 40, 0)) for step in range(41)]
        assert measure("left", path, self.METRIC).value == pytest.approx(np.sqrt(0.5))

    def test_noise_in_the_centres_leaks_little_of_a_wide_turn(self):
        path = with_centre_noise(there_and_back("left_then_right", 81, degrees=60), 0.01)
        assert measure("left_then_right", path, self.METRIC).value < 0.05

    def test_where_the_world_begins_and_how_long_a_metre_is_do_not_matter(self):
        path = with_centre_noise(there_and_back("left_then_right", 41), 0.05)
        moved = measure("left_then_right", elsewhere(path, scale=7.3), self.METRIC, median_depth=21.9)
        assert moved.value == pytest.approx(measure("left_then_right", path, self.METRIC).value)

    def test_a_camera_that_stands_still_is_declined(self):
        outcome = measure("left_then_right", np.tile(np.eye(4), (41, 1, 1)), self.METRIC)
        assert (type(outcome), outcome.reason) == (Abstention, Reason.NOT_APPLICABLE)

    def test_poses_without_the_depth_of_the_scene_are_declined(self):
        poses = trajectory(there_and_back("left_then_right", 41)).to_feature()
        features = {"poses": Feature(poses.arrays, {"median_depth": EXTENT_AS_DEPTH})}
        outcome = self.METRIC.measure(rollout(action="left_then_right"), features)
        assert (type(outcome), outcome.reason) == (Abstention, Reason.MISSING_INPUT)
