from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Reason
from lookaway.metrics.camera_return import CameraCut, ReachMissing, ReturnError
from tests.support import panorama
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
EASED = tuple(float(angle) for angle in 30 - 30 * np.cos(np.linspace(0, 2 * np.pi, 31)))


def features(done=EASED, requested=EASED):
    return {"poses": panorama.poses(tuple(done)), "commanded_poses": panorama.poses(tuple(requested))}


def test_a_camera_that_follows_the_request_has_no_error():
    assert ReturnError().measure(ROLLOUT, features()).value == pytest.approx(0, abs=1e-5)
    assert ReachMissing().measure(ROLLOUT, features()).value == pytest.approx(0, abs=1e-5)
    assert CameraCut().measure(ROLLOUT, features()).value == pytest.approx(1, abs=0.05)


def test_a_camera_that_stops_before_it_is_back_is_off_by_the_angle_that_is_missing():
    short = [*EASED[:16], *(max(angle, 7.0) for angle in EASED[16:])]
    assert ReturnError().measure(ROLLOUT, features(short)).value == pytest.approx(7, abs=0.01)


def test_a_camera_that_turns_half_as_far_misses_half_of_the_request():
    outcome = ReachMissing().measure(ROLLOUT, features([angle / 2 for angle in EASED]))
    assert outcome.value == pytest.approx(50, abs=0.01)
    assert outcome.detail["requested_degrees"] == pytest.approx(60, abs=0.01)


def test_a_camera_that_turns_farther_misses_nothing():
    assert ReachMissing().measure(ROLLOUT, features([angle * 1.2 for angle in EASED])).value == 0


def test_the_first_direction_does_not_matter():
    turned = [angle + 15 for angle in EASED]
    assert ReturnError().measure(ROLLOUT, features(turned)).value == pytest.approx(0, abs=1e-4)


def test_a_request_that_does_not_turn_has_no_reach():
    outcome = ReachMissing().measure(ROLLOUT, features(requested=[0.0] * len(EASED)))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NOT_APPLICABLE


def test_a_skipped_part_of_the_path_is_a_cut_at_its_frame():
    skipped = [*EASED[:10], *EASED[14:]]
    outcome = CameraCut().measure(ROLLOUT, features(skipped))
    assert outcome.value > 2
    assert outcome.detail["frame"] == 10


def test_frames_that_were_not_sampled_are_no_cut():
    poses = panorama.poses(tuple(np.linspace(0, 40, 21)))
    kept = [place for place in range(21) if place not in (7, 8)]
    thinned = {name: array[kept] for name, array in poses.arrays.items() if name != "size"} | {"size": poses["size"]}
    outcome = CameraCut().measure(ROLLOUT, {"poses": type(poses)(thinned)})
    assert outcome.value == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(("degrees", "reason"), [([0.0] * 20, Reason.NOT_APPLICABLE), ([0, 5, 10], Reason.TOO_SHORT)])
def test_a_still_camera_and_a_short_path_have_no_rhythm(degrees, reason):
    outcome = CameraCut().measure(ROLLOUT, features(degrees, degrees))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is reason
