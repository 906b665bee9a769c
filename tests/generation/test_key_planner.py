from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import plugins
from lookaway.generation.adapter import ControlRefusal
from lookaway.generation.camera_motion import Leg, legs_of
from lookaway.generation.key_planner import KeyRules, plan_keys
from lookaway.generation.request import CameraRequest
from tests.generation.golden import LENS, request, there_and_back, turn


def rules(**changes):
    basis = {
        "quantum": {"yaw": 3.0},
        "can_hold": False,
        "can_combine": False,
        "is_length": lambda steps: True,
        "steps_per_second": 6.0,
    }
    return KeyRules(**{**basis, **changes})


def counts(legs, **changes):
    runs = plan_keys(legs, rules(**changes), fps=16)
    return None if runs is None else [(dict(run.press), run.count) for run in runs]


AWAY_AND_BACK = [Leg(0, 40, {"yaw": -60.0}), Leg(40, 80, {"yaw": 60.0})]


def test_the_way_back_is_worth_more_than_the_peak():
    legs = [Leg(0, 40, {"yaw": -61.0}), Leg(40, 80, {"yaw": 61.0})]
    assert counts(legs) == [({"yaw": -1}, 20), ({"yaw": 1}, 20)]


def test_a_length_that_the_model_takes_is_found_by_the_smallest_error_at_the_end():
    assert counts(AWAY_AND_BACK, is_length=lambda steps: (steps + 1) % 4 == 0) == [({"yaw": -1}, 20), ({"yaw": 1}, 19)]


@pytest.mark.parametrize("sign", [-1, 1])
def test_where_the_way_does_not_close_the_peak_is_still_reached(sign):
    legs = [Leg(0, 40, {"yaw": 60.0 * sign}), Leg(40, 80, {"yaw": -60.0 * sign})]
    assert counts(legs, is_length=lambda steps: (steps + 1) % 4 == 0) == [({"yaw": sign}, 20), ({"yaw": -sign}, 19)]


def test_a_model_that_can_stand_still_is_padded_at_the_end():
    found = counts(AWAY_AND_BACK, can_hold=True, is_length=lambda steps: (steps + 1) % 4 == 0)
    assert found == [({"yaw": -1}, 20), ({"yaw": 1}, 20), ({}, 3)]


def test_a_pause_takes_as_long_as_it_was_asked_for():
    legs = [Leg(0, 16, {"yaw": -30.0}), Leg(16, 48, {}), Leg(48, 64, {"yaw": 30.0})]
    assert counts(legs, can_hold=True)[1] == ({}, 12)


def test_keys_that_cannot_be_held_together_are_pressed_in_turn():
    found = counts([Leg(0, 80, {"yaw": -12.0, "right": 0.16})], quantum={"yaw": 3.0, "right": 0.08})
    assert sum(count for press, count in found if "yaw" in press) == 4
    assert sum(count for press, count in found if "right" in press) == 2
    assert all(len(press) == 1 for press, _ in found)


def test_no_length_at_all_is_no_plan():
    assert counts(AWAY_AND_BACK, is_length=lambda steps: False) is None
    assert counts(AWAY_AND_BACK, is_length=lambda steps: False, can_hold=True) is None


def test_many_legs_are_planned_without_trying_everything():
    legs = [Leg(10 * number, 10 * number + 10, {"yaw": 10.0 * (-1) ** number}) for number in range(40)]
    found = counts(legs)
    assert abs(sum(press["yaw"] * count for press, count in found)) <= 1


def test_legs_are_where_the_camera_changes_its_direction():
    degrees = np.concatenate([np.linspace(0, 30, 11), np.full(5, 30.0), np.linspace(30, 0, 11)])
    legs = legs_of(turn(degrees, len(degrees)))
    assert [round(leg.amounts.get("yaw", 0.0), 6) for leg in legs] == [30, 0, -30]


def test_a_camera_that_eases_in_does_not_stand_still():
    degrees = 30 * (1 - np.cos(np.linspace(0, 2 * np.pi, 81))) / 2
    legs = [leg for leg in legs_of(turn(degrees, 81)) if not leg.is_hold]
    assert [leg.amounts["yaw"] for leg in legs] == pytest.approx([30, -30], abs=0.3)


def test_a_hand_held_path_is_refused_for_keys_and_taken_as_poses():
    shaky = turn(np.random.default_rng(0).normal(scale=3, size=200), 200)
    refused = plugins.load("adapters", "minwm-hy15")().plan(request(shaky), 0)
    assert isinstance(refused, ControlRefusal)
    assert "given poses" in refused.message
    assert not isinstance(plugins.load("adapters", "lingbot-world")().plan(request(shaky), 0), ControlRefusal)


def test_a_motion_smaller_than_a_step_is_refused():
    refused = plugins.load("adapters", "hy-worldplay-keys")().plan(request(there_and_back(-0.9)), 0)
    assert isinstance(refused, ControlRefusal)


def test_a_path_is_relative_to_its_first_pose_wherever_it_begins():
    start = np.eye(4)
    start[:3, 3] = 5, 6, 7
    camera = CameraRequest.of(start @ there_and_back(), LENS, (832, 480), 16)
    assert np.allclose(camera.camera_to_world, there_and_back())
    assert camera.seconds == 5.0


def test_the_camera_rests_after_the_end_of_its_path():
    camera = CameraRequest.of(there_and_back()[:41], LENS, (832, 480), 16)
    assert np.allclose(camera.at(np.array([99.0]))[0], camera.camera_to_world[-1])


@pytest.mark.parametrize("poses", [np.eye(4)[None], np.zeros((3, 3, 3)), np.full((2, 4, 4), np.nan)])
def test_what_is_no_path_is_refused(poses):
    with pytest.raises(ValueError, match="path"):
        CameraRequest.of(poses, LENS, (832, 480), 16)
