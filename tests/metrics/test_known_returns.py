from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.known_returns import AnchorPairs, ReturnPairs, is_closed, is_published_loop, keys_of
from tests.support.revisit_golden import arrays, official, rollout_of, timeline_of
from tests.support.room import trajectory


def test_the_loop_rule_is_that_of_the_official_code():
    for keys, expected in official()["wbench"]["loop_rule"]:
        assert is_published_loop(keys) is expected, keys


@pytest.mark.parametrize(
    ("action", "is_loop"),
    [
        ("left_then_right", True),
        ("W,A,S", False),
        ("W,A,S,D", True),
        ("W,left,S,right", False),
        ("left,W,S,right", True),
        ("A,A,D,D", True),
        ("W", False),
    ],
)
def test_a_loop_is_closed_where_all_motions_compose_to_none(action, is_loop):
    keys = keys_of(action)
    assert keys is not None
    assert is_closed(keys) is is_loop
    declined = AnchorPairs(needs_loop=True).declines(rollout_of(action=action))
    assert (declined is None) is is_loop
    assert declined is None or declined.reason == Reason.NOT_APPLICABLE


def test_the_last_frame_is_the_return_unless_one_is_named():
    assert AnchorPairs().choose(rollout_of(), timeline_of(41), {}).frames.tolist() == [[0, 40]]
    near = AnchorPairs(return_frame=48, clip_frames=81)
    assert near.choose(rollout_of(), timeline_of(81), {}).frames.tolist() == [[0, 48]]
    assert near.choose(rollout_of(), timeline_of(161), {}).frames.tolist() == [[0, 96]]


def test_a_clip_that_ends_before_the_named_frame_is_too_short():
    exact = AnchorPairs(return_frame=80, is_exact=True)
    with pytest.raises(Unmeasurable, match="back at frame 80, the last one is 60") as error:
        exact.choose(rollout_of(), timeline_of(61), {})
    assert error.value.reason == Reason.TOO_SHORT
    with pytest.raises(Unmeasurable):
        AnchorPairs().choose(rollout_of(), timeline_of(1), {})


def test_folded_paths_return_to_their_start_where_the_anchor_pairs_say_so():
    for name, return_frame in (("far", 80), ("near", 48)):
        assert np.flatnonzero(np.array(official()["l2r"][f"gt_index_{name}"]) == 0).tolist() == [0, return_frame]


def turned(yaws: np.ndarray, stride: int = 1):
    path = np.tile(np.eye(4), (len(yaws), 1, 1))
    path[:, :3, :3] = Rotation.from_euler("y", np.asarray(yaws)[:, None], degrees=True).as_matrix()
    return trajectory(path, frame_indices=np.arange(len(yaws)) * stride)


WBENCH = ReturnPairs(by_rotation=True, published_loops=True)


@pytest.mark.parametrize("name", ["loop", "loop_stride2", "overshoot", "frozen", "three_turns"])
def test_the_return_has_the_rotation_of_the_official_one(name):
    case, yaws = official()["wbench"]["cases"][name], arrays()[f"wb_yaw_{name}"]
    back = WBENCH.return_frame(turned(yaws, case["stride"]), case["n_turns"])
    assert abs(yaws[back // case["stride"]] - yaws[0]) == pytest.approx(case["official"]["ret_rot"], abs=0.01)


def test_pairs_go_from_the_first_frame_to_the_return():
    yaws = np.concatenate([np.linspace(0, 60, 21), np.linspace(57, 0, 20)])
    rollout = rollout_of(action="left_then_right")
    pairs = ReturnPairs(samples=5).choose(rollout, timeline_of(41), {"poses": turned(yaws).to_feature()})
    assert pairs.frames.tolist() == [[0, 10], [0, 20], [0, 30], [0, 40]]


def test_noise_in_rotation_does_not_choose_the_return_of_a_camera_that_only_walks():
    there = np.concatenate([np.linspace(0, 1, 21), np.linspace(0.95, 0, 20)])
    path = turned(np.random.default_rng(0).normal(0, 0.2, 41)).camera_to_world.copy()
    path[:, 2, 3] = there
    walked = trajectory(path)
    assert ReturnPairs().return_frame(walked, 2) == 40
    assert WBENCH.return_frame(walked, 2) != 40


@pytest.mark.parametrize(
    ("action", "reason"), [(None, Reason.MISSING_INPUT), ("jump", Reason.MISSING_INPUT), ("W", Reason.NOT_APPLICABLE)]
)
def test_a_case_that_does_not_lead_back_is_declined(action, reason):
    declined = ReturnPairs().declines(rollout_of(action=action))
    assert declined is not None
    assert declined.reason == reason
    assert ReturnPairs().declines(rollout_of(action="W,A,S")) is not None
    assert WBENCH.declines(rollout_of(action="W,A,S")) is None
