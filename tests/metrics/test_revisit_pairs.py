from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Reason, Trajectory, Unmeasurable
from lookaway.metrics.revisit_pairs import RevisitPairs
from tests.support import panorama
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))


def select(degrees, centres=None, **fields):
    trajectory = Trajectory.from_feature(panorama.poses(tuple(degrees)))
    if centres is not None:
        trajectory.camera_to_world[:, :3, 3] = centres
    return RevisitPairs(**fields).select(ROLLOUT, len(trajectory.frame_indices), trajectory)


def test_returns_are_spread_over_time_and_each_has_the_frame_of_the_same_view():
    degrees = [*range(0, 51, 2), *range(48, -1, -2)]
    pairs = select(degrees)
    assert len(pairs.frames) == 3
    for first, second in pairs.frames.tolist():
        assert abs(degrees[first] - degrees[second]) <= 2
    assert pairs.rule == "revisited by turning"


@pytest.mark.parametrize("degrees", [[0.0] * 12, range(0, 66, 6)])
def test_a_camera_that_stands_still_or_does_not_come_back_has_no_pairs(degrees):
    with pytest.raises(Unmeasurable, match="expected 20%") as refusal:
        select(degrees)
    assert refusal.value.reason is Reason.GATE_CLOSED


def test_without_poses_there_are_no_pairs():
    with pytest.raises(Unmeasurable) as refusal:
        RevisitPairs().select(ROLLOUT, 10, None)
    assert refusal.value.reason is Reason.POSE_FAILED


def test_a_return_to_a_place_too_far_aside_is_declined_with_the_distance():
    away = np.zeros((len(panorama.OUT_AND_BACK), 3))
    away[9:, 1] = 0.3
    with pytest.raises(Unmeasurable, match=r"no nearer than 0\.30 median depths") as refusal:
        select(panorama.OUT_AND_BACK, away)
    assert refusal.value.reason is Reason.GATE_CLOSED
    assert select(panorama.OUT_AND_BACK, away, max_baseline=0.4).rule == "revisited from nearly one place"
