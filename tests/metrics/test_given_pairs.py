from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.metrics.given_pairs import GivenPairs, published_frame
from tests.support.revisit_golden import official, rollout_of, timeline_of


def test_frames_are_mapped_as_in_the_official_code():
    for frame, dataset_fps, video_fps, frames, expected in official()["sana"]["remap"]["rows"]:
        assert published_frame(frame, dataset_fps, video_fps, frames) == expected


def chosen(pairs, timeline, **constants):
    return GivenPairs(**constants).choose(rollout_of(pairs=pairs), timeline, {}).frames.tolist()


def test_the_cheapest_pairs_come_first_and_equal_ones_stay_in_order():
    pairs = [(1, 9, None), (2, 9, 0.5), (3, 9, 0.1), (4, 9, 0.5)]
    assert chosen(pairs, timeline_of(10), most=3) == [[3, 9], [2, 9], [4, 9]]
    assert chosen(pairs, timeline_of(10), most=9)[-1] == [1, 9]


def test_pairs_are_found_at_the_time_they_name_whatever_the_rate_of_the_video():
    assert chosen([(4, 36, 0)], timeline_of(61, fps=24)) == [[6, 54]]
    assert chosen([(4, 36, 0)], timeline_of(21, fps=8)) == [[2, 18]]


def test_time_stamps_decide_and_not_the_mean_rate():
    late = Timeline(np.concatenate([np.arange(20) / 16, 5 + np.arange(60) / 16]), 64, 48)
    assert chosen([(8, 96, 0)], late) == [[8, 36]]
    assert chosen([(8, 96, 0)], late, clamps=True) != [[8, 36]]


def test_a_video_that_ends_before_a_pair_is_too_short_unless_frames_are_clamped():
    with pytest.raises(Unmeasurable, match=r"at 3\.75 s, and the video ends at 2\.50 s") as error:
        chosen([(1, 60, 0)], timeline_of(41))
    assert error.value.reason == Reason.TOO_SHORT
    assert chosen([(1, 60, 0)], timeline_of(41), clamps=True) == [[1, 40]]


def test_a_clip_of_one_frame_fewer_than_the_path_has_poses_is_long_enough():
    assert chosen([(16, 960, 0)], timeline_of(960)) == [[16, 959]]


def test_a_pair_that_becomes_one_frame_is_left_out():
    pairs = [(40, 41, 0.1), (5, 35, 0.5)]
    assert chosen(pairs, timeline_of(61, fps=24), clamps=True) == [[8, 52]]
    with pytest.raises(Unmeasurable, match="none of the 1 given pairs"):
        chosen(pairs[:1], timeline_of(21, fps=8))


def test_a_case_without_pairs_is_declined():
    declined = GivenPairs().declines(rollout_of())
    assert declined is not None
    assert declined.reason == Reason.MISSING_INPUT
    assert GivenPairs().declines(rollout_of(pairs=[(0, 9, None)])) is None


def test_a_frame_before_the_start_is_an_invalid_record():
    with pytest.raises(Unmeasurable, match="frame -4") as error:
        chosen([(-4, 9, 0)], timeline_of(41), clamps=True)
    assert error.value.reason == Reason.INVALID_RECORD


def test_a_video_of_one_frame_has_no_pairs():
    with pytest.raises(Unmeasurable) as error:
        chosen([(0, 9, 0)], timeline_of(1))
    assert error.value.reason == Reason.TOO_SHORT
