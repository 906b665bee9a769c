from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Reason, Unmeasurable
from lookaway.metrics.segment_pairs import SegmentPairs
from tests.metrics.two_view_scenes import elsewhere, rollout
from tests.support.room import pose, trajectory

FIVE = ("a door opens", "a hall", "a garden", "the hall", "the door")


def yaws_of(*yaws: float):
    return trajectory(np.stack([pose(yaw_degrees=yaw) for yaw in yaws]))


def select(selector: SegmentPairs, poses, *, frame_count: int | None = None, prompt=FIVE):
    pairs = selector.select(rollout(prompt=prompt), frame_count or poses.frame_count, poses)
    return [tuple(pair) for pair in pairs.frames.tolist()], pairs.rule


def test_equally_close_pairs_are_ranked_by_how_far_apart_they_are_in_time():
    poses = yaws_of(*(min(step, 24 - step) for step in range(25)))
    pairs, rule = select(SegmentPairs(), poses)
    assert pairs == [(0, 24), (1, 23), (2, 22), (3, 21), (4, 20)]
    assert rule == "segment"


def test_a_closer_pair_goes_before_a_wider_one():
    poses = yaws_of(0, 50, 100, 150, 100, 53, 1)
    assert select(SegmentPairs(most=3), poses, prompt=FIVE[:4])[0] == [(2, 4), (0, 6), (1, 5)]


def test_a_tenth_of_the_extent_counts_as_much_as_ten_degrees():
    # Late frames: one a little less than a tenth of the extent away, the other turned by ten degrees.
    poses = trajectory(
        np.stack([pose(), pose(), pose(centre=(0, 0, 1)), pose(centre=(0, 0, 0.09)), pose(yaw_degrees=10)])
    )
    narrow = SegmentPairs(most=1, edge_segments=1)
    assert select(narrow, poses, prompt=FIVE[:2])[0] == [(0, 3)]
    assert select(SegmentPairs(most=1, edge_segments=1, angle_scale_degrees=12), poses, prompt=FIVE[:2])[0] == [(0, 4)]


def test_early_frames_come_from_the_first_two_segments_and_late_ones_from_the_last_two():
    pairs, _ = select(SegmentPairs(most=1000), yaws_of(*([0.0] * 25)))
    assert {first for first, _ in pairs} == set(range(10))
    assert {second for _, second in pairs} == set(range(15, 25))


def test_pairs_do_not_depend_on_where_the_world_begins_or_on_its_unit():
    path = np.stack(
        [pose(yaw_degrees=3.1 * min(s, 24 - s), centre=(0.01 * s, 0, 0.1 * min(s, 24 - s))) for s in range(25)]
    )
    moved = trajectory(elsewhere(path, scale=40.0), median_depth=120.0)
    assert select(SegmentPairs(), moved) == select(SegmentPairs(), trajectory(path))


def test_without_poses_the_edges_are_paired_symmetrically_and_the_pairs_say_so():
    pairs, rule = select(SegmentPairs(), None, frame_count=25)
    assert pairs == [(0, 24), (1, 23), (2, 22), (3, 21), (4, 20)]
    assert rule == "symmetric: no poses"


@pytest.mark.parametrize("segments", [0, 1, 3])
def test_a_prompt_of_too_few_segments_leaves_five_equal_parts_and_the_pairs_say_so(segments):
    poses = yaws_of(*(min(step, 24 - step) for step in range(25)))
    for given_poses, rule in ((poses, "segment"), (None, "symmetric: no poses")):
        told, _ = select(SegmentPairs(most=1000), given_poses, frame_count=25)
        pairs, said = select(SegmentPairs(most=1000), given_poses, frame_count=25, prompt=FIVE[:segments])
        assert pairs == told
        assert said == f"{rule}; 5 equal parts, the prompt has {segments} of the 4 segments needed"


def test_segments_that_were_told_are_not_replaced_by_equal_parts():
    poses = yaws_of(*([0.0] * 24))
    pairs, rule = select(SegmentPairs(most=1000), poses, prompt=FIVE[:4])
    assert {first for first, _ in pairs} == set(range(12))
    assert rule == "segment"


def test_equal_parts_hold_the_segments_of_both_ends():
    pairs, rule = select(SegmentPairs(most=1000, edge_segments=3), yaws_of(*([0.0] * 24)), prompt=())
    assert {first for first, _ in pairs} == set(range(12))
    assert {second for _, second in pairs} == set(range(12, 24))
    assert rule == "segment; 6 equal parts, the prompt has 0 of the 6 segments needed"


def test_last_segments_without_a_posed_frame_are_too_short():
    poses = trajectory(np.tile(np.eye(4), (9, 1, 1)), frame_indices=np.arange(9), frame_count=25)
    with pytest.raises(Unmeasurable, match="hold no posed frame") as caught:
        select(SegmentPairs(), poses)
    assert caught.value.reason is Reason.TOO_SHORT


def test_segments_whose_frames_are_all_neighbours_are_too_short():
    with pytest.raises(Unmeasurable, match="are neighbours") as caught:
        select(SegmentPairs(edge_segments=1), yaws_of(0, 0), prompt=FIVE[:2])
    assert caught.value.reason is Reason.TOO_SHORT


@given(
    yaws=st.lists(st.floats(-170, 170), min_size=1, max_size=30),
    segments=st.integers(4, 7),
    most=st.integers(1, 6),
    min_span=st.integers(1, 9),
)
def test_pairs_go_from_an_early_frame_to_a_late_one_wide_enough_and_none_twice(yaws, segments, most, min_span):
    poses = yaws_of(*yaws)
    try:
        pairs, _ = select(SegmentPairs(most=most, min_span_frames=min_span), poses, prompt=("a door",) * segments)
    except Unmeasurable as error:
        pairs, reason = [], error.reason
    assert pairs or reason is Reason.TOO_SHORT
    early, late = round(len(yaws) * 2 / segments), round(len(yaws) * (segments - 2) / segments)
    assert all(0 <= first < early and late <= second < len(yaws) for first, second in pairs)
    assert all(second - first >= min_span for first, second in pairs)
    assert len(set(pairs)) == len(pairs) <= most
