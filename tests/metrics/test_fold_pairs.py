from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.fold_pairs import FoldPairs
from tests.metrics.two_view_scenes import elsewhere, rollout
from tests.support.room import pose, there_and_back, trajectory


def select(selector: FoldPairs, poses, frame_count: int | None = None):
    pairs = selector.select(rollout(), frame_count or poses.frame_count, poses)
    return [tuple(pair) for pair in pairs.frames.tolist()], pairs.rule


def peaked(frames: int, peak: int):
    """A camera that turns away until one frame and back from there on."""
    yaws = np.concatenate([np.linspace(0, 40, peak + 1), np.linspace(40, 1, frames - peak)[1:]])
    return trajectory(np.stack([pose(yaw_degrees=float(yaw)) for yaw in yaws]))


@pytest.mark.parametrize("action", ["left_then_right", "right_then_left", "forward_then_backward"])
def test_a_symmetric_return_pairs_each_frame_with_its_mirror_image_widest_first(action):
    pairs, rule = select(FoldPairs(), trajectory(there_and_back(action, 21)))
    assert pairs == [(i, 20 - i) for i in range(10)]
    assert rule == "fold"


def test_a_slow_return_pairs_by_camera_not_by_time():
    yaws = [0, 10, 20, 30, 40, 35, 30, 25, 20, 15, 10, 5, 0]
    pairs, _ = select(FoldPairs(), trajectory(np.stack([pose(yaw_degrees=yaw) for yaw in yaws])))
    assert pairs == [(0, 12), (1, 10), (2, 8), (3, 6)]


def test_at_max_twenty_pairs_are_kept_those_farthest_apart_in_time():
    pairs, _ = select(FoldPairs(), trajectory(there_and_back("left_then_right", 81)))
    assert pairs == [(i, 80 - i) for i in range(20)]


def test_pairs_are_frames_of_the_video_where_only_some_have_poses():
    frames = np.arange(11) * 8
    poses = trajectory(there_and_back("left_then_right", 11), frame_indices=frames, frame_count=85)
    assert select(FoldPairs(), poses)[0] == [(0, 80), (8, 72), (16, 64), (24, 56), (32, 48)]


@pytest.mark.parametrize(
    ("frames", "first", "last"), [(20, 2, 17), (81, 8, 72)], ids=["20 posed frames", "81 posed frames"]
)
def test_a_turnaround_in_the_first_or_last_tenth_is_none(frames, first, last):
    rules = {peak: select(FoldPairs(), peaked(frames, peak))[1] for peak in (first - 1, first, last, last + 1)}
    symmetric = "symmetric: no clear turnaround"
    assert rules == {first - 1: symmetric, first: "fold", last: "fold", last + 1: symmetric}


@pytest.mark.parametrize("count", [8, 9, 10, 11])
@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_the_last_frame_is_no_turnaround_however_few_frames_have_poses(count, margin):
    poses = trajectory(np.stack([pose(yaw_degrees=step) for step in range(count)]))
    assert select(FoldPairs(margin=margin), poses)[1] == "symmetric: no clear turnaround"


def test_a_camera_that_never_comes_back_is_paired_symmetrically_and_the_pairs_say_so():
    poses = trajectory(np.stack([pose(centre=(0, 0, 0.1 * step)) for step in range(11)]))
    pairs, rule = select(FoldPairs(), poses)
    assert pairs == [(i, 10 - i) for i in range(5)]
    assert rule == "symmetric: no clear turnaround"


def test_a_camera_that_stands_still_is_paired_symmetrically():
    assert select(FoldPairs(), trajectory(np.tile(np.eye(4), (11, 1, 1))))[1] == "symmetric: no clear turnaround"


@pytest.mark.parametrize(("count", "expected"), [(7, "symmetric: no clear turnaround"), (8, "fold")])
def test_fewer_than_eight_posed_frames_show_no_turnaround(count, expected):
    assert select(FoldPairs(), peaked(count, 3))[1] == expected


def test_without_poses_all_frames_are_paired_symmetrically_and_the_pairs_say_so():
    pairs = FoldPairs(most=3).select(rollout(), 10, None)
    assert (pairs.frames.tolist(), pairs.rule) == ([[0, 9], [1, 8], [2, 7]], "symmetric: no poses")


def test_of_equally_near_frames_those_farthest_apart_in_time_are_paired():
    yaws = [0, 0, 0, 20, 40, 20, 0, 0, 0, 0]
    pairs, _ = select(FoldPairs(), trajectory(np.stack([pose(yaw_degrees=yaw) for yaw in yaws])))
    assert pairs == [(0, 9), (1, 8), (2, 7), (3, 5)]


def test_frames_that_share_their_nearest_partner_get_partners_of_their_own():
    yaws = [0, 10, 20, 30, 40, 20, 20, 20, 20, 20]
    pairs, _ = select(FoldPairs(), trajectory(np.stack([pose(yaw_degrees=yaw) for yaw in yaws])))
    assert (2, 9) in pairs
    assert len({second for _, second in pairs}) == len(pairs) == 4


def test_twenty_frames_cannot_share_the_one_frame_that_came_back():
    outward = [pose(yaw_degrees=0.01 * step) for step in range(20)]
    path = np.stack([*outward, pose(yaw_degrees=40), *(pose(yaw_degrees=yaw) for yaw in (30, 20, 0))])
    chosen = FoldPairs(margin=0.0).select(rollout(), len(path), trajectory(path))
    assert chosen.frames.tolist() == [[0, 23], [18, 21], [19, 22]]
    assert chosen.partner_frames == 3


def test_a_fast_return_pairs_the_frames_it_passes_and_leaves_the_others_out():
    yaws = [0, 5, 10, 15, 20, 25, 30, 35, 40, 30, 20, 10, 0]
    pairs, _ = select(FoldPairs(), trajectory(np.stack([pose(yaw_degrees=yaw) for yaw in yaws])))
    assert pairs == [(0, 12), (2, 11), (4, 10), (6, 9)]


def test_half_a_turn_counts_as_much_as_the_whole_extent_of_the_path():
    outbound = [pose(centre=(0, 0, z)) for z in [*[0.0] * 7, 1.0]]
    # Two ways to come back to the first view: half an extent away, or turned by a bit less than half of 180 degrees.
    inbound = [pose(centre=(0, 0, 0.9)), pose(centre=(0, 0, 0.5)), pose(yaw_degrees=85)]
    poses = trajectory(np.stack(outbound + inbound))
    assert select(FoldPairs(), poses)[0][0] == (0, 10)
    assert select(FoldPairs(degrees_per_extent=90.0), poses)[0][0] == (0, 9)


@pytest.mark.parametrize("action", ["left_then_right", "forward_then_backward"])
def test_pairs_do_not_depend_on_where_the_world_begins_or_on_its_unit(action):
    path = there_and_back(action, 31, return_offset_metres=0.1)
    moved = trajectory(elsewhere(path, scale=40.0), median_depth=120.0)
    assert select(FoldPairs(), moved) == select(FoldPairs(), trajectory(path))


def test_poses_stored_in_single_precision_give_the_same_pairs():
    # 401 frames of a slow turn: neighbours differ by a fifth of a degree.
    path = there_and_back("left_then_right", 401)
    stored = trajectory(path.astype(np.float32))
    assert select(FoldPairs(most=400), stored) == select(FoldPairs(most=400), trajectory(path))


@pytest.mark.parametrize("frame_count", [1, 2])
def test_a_clip_of_neighbouring_frames_only_is_too_short(frame_count):
    with pytest.raises(Unmeasurable) as caught:
        FoldPairs().select(rollout(), frame_count, None)
    assert caught.value.reason is Reason.TOO_SHORT


def test_a_return_within_neighbouring_frames_only_is_too_short():
    with pytest.raises(Unmeasurable, match="neighbouring frames") as caught:
        select(FoldPairs(min_span_frames=30), trajectory(there_and_back("left_then_right", 21)))
    assert caught.value.reason is Reason.TOO_SHORT


@given(
    yaws=st.lists(st.floats(-170, 170), min_size=1, max_size=24),
    metres=st.floats(0, 3),
    gaps=st.lists(st.integers(1, 4), min_size=24, max_size=24),
    most=st.integers(1, 6),
    min_span=st.integers(2, 9),
)
def test_pairs_lie_in_the_clip_in_order_wide_enough_and_widest_first(yaws, metres, gaps, most, min_span):
    path = np.stack([pose(yaw_degrees=yaw, centre=(0, 0, metres * np.sin(yaw))) for yaw in yaws])
    frames = np.cumsum(gaps[: len(yaws)]) - gaps[0]
    poses = trajectory(path, frame_indices=frames, frame_count=int(frames[-1]) + 3)
    try:
        pairs, _ = select(FoldPairs(most=most, min_span_frames=min_span), poses)
    except Unmeasurable as error:
        pairs, reason = [], error.reason
    assert pairs or reason is Reason.TOO_SHORT
    spans = [second - first for first, second in pairs]
    assert {frame for pair in pairs for frame in pair} <= set(frames.tolist())
    assert all(len({pair[end] for pair in pairs}) == len(pairs) for end in (0, 1))
    assert len(pairs) <= most
    assert all(span >= min_span for span in spans)
    assert spans == sorted(spans, reverse=True)
