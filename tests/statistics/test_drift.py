from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Estimate
from lookaway.statistics.drift import FrameValues, default_bin_width, drift_curve
from lookaway.statistics.intervals import scene_mean

ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.floats(-1, 1, allow_subnormal=False), st.integers(0, 5)), min_size=1, max_size=60
)
"""Frame, value and rollout."""
SCENES = ("a", "b", "a", "c", "b", "d")


def clips(*series, scenes=None) -> FrameValues:
    """One rollout for each series of values, each a scene of its own unless told."""
    return FrameValues(
        frames=np.concatenate([np.arange(len(one)) for one in series]),
        values=np.concatenate([np.asarray(one, np.float64) for one in series]),
        rollouts=np.repeat(np.arange(len(series)), [len(one) for one in series]),
        scenes=scenes or [f"scene {number}" for number in range(len(series))],
    )


def rows_of(rows) -> FrameValues:
    frames, values, rollouts = zip(*rows, strict=True)
    return FrameValues(
        frames=np.array(frames), values=np.array(values), rollouts=np.array(rollouts), scenes=list(SCENES)
    )


def same(one: Estimate | None, other: Estimate | None, *, moved: float = 0.0) -> bool:
    if one is None or other is None:
        return one is other
    near = {
        name: value is None if theirs is None else math.isclose(value + moved, theirs, rel_tol=1e-9, abs_tol=1e-9)
        for name in ("mean", "low", "high")
        for value, theirs in [(getattr(one, name), getattr(other, name))]
    }
    return all(near.values()) and (one.scored, one.scenes) == (other.scored, other.scenes)


def test_each_rollout_counts_once_in_a_bin_and_intervals_are_clustered_by_scene():
    series = ([0.9, 0.7, 0.5, 0.1], [0.2, 0.4, 0.6, 0.8], [1.0, 0.0, 0.0, 0.0], [0.5] * 4, [0.4] * 4, [0.1] * 4)
    names = list("aabcde")
    first, second = drift_curve(clips(*series, scenes=names), 2)
    assert (first.first, first.last, first.frame) == (0, 1, 0.5)
    assert (second.first, second.last, second.frame) == (2, 3, 2.5)
    assert same(first.estimate, scene_mean(np.array([0.8, 0.3, 0.5, 0.5, 0.4, 0.1]), names))
    assert same(second.estimate, scene_mean(np.array([0.3, 0.7, 0.0, 0.5, 0.4, 0.1]), names))
    assert same(second.change, scene_mean(np.array([-0.5, 0.4, -0.5, 0.0, 0.0, 0.0]), names))
    assert first.change == Estimate(mean=0.0, low=None, high=None, scored=6, scenes=5, scene_means=(0.0,))


def test_bands_of_a_bounded_metric_stay_inside_its_range():
    data = replace(clips(*[[1.0, 0.9]] * 4, [1.0, 0.2]), range=(0.0, 1.0))
    for point in drift_curve(data, 1):
        assert 0.0 < point.estimate.low < point.estimate.mean <= point.estimate.high <= 1.0


def test_more_frames_of_one_rollout_do_not_narrow_a_band():
    slow = clips([0.1] * 4, [0.5] * 4, [0.9] * 4)
    fast = clips([0.1] * 400, [0.5] * 400, [0.9] * 400)
    assert same(drift_curve(slow, 4)[0].estimate, drift_curve(fast, 400)[0].estimate)


def test_every_bin_says_how_many_rollouts_and_scenes_reach_it():
    data = clips([0.5] * 10, [0.5] * 20, [0.5] * 25, scenes=["a", "b", "b"])
    assert [(b.first, b.last, b.estimate.scored, b.estimate.scenes) for b in drift_curve(data, 10)] == [
        (0, 9, 3, 2),
        (10, 19, 2, 1),
        (20, 29, 1, 1),
    ]


def test_clips_that_end_early_move_the_mean_but_not_the_change():
    easy_and_short, hard_and_long = [0.9] * 10, [0.3] * 20
    first, second = drift_curve(clips(easy_and_short, hard_and_long), 10)
    assert (first.estimate.mean, second.estimate.mean) == (pytest.approx(0.6), pytest.approx(0.3))
    assert second.change.mean == pytest.approx(0.0, abs=1e-12)
    assert second.change.scored == 1


def test_a_clip_that_ends_inside_a_bin_does_not_bend_a_straight_curve():
    line = 1.0 - 0.01 * np.arange(30)
    for entry in drift_curve(clips(line[:23], line[:17], line), 10):
        assert entry.estimate.mean == pytest.approx(1.0 - 0.01 * entry.frame, abs=1e-12)


def test_a_rollout_without_a_first_bin_has_a_mean_and_no_change():
    data = FrameValues(
        frames=np.array([0, 1, 10, 20]),
        values=np.array([1.0, 1.0, 0.5, 0.25]),
        rollouts=np.array([0, 0, 0, 1]),
        scenes=["a", "b"],
    )
    assert [(b.first, b.estimate.mean, b.change and b.change.mean) for b in drift_curve(data, 5)] == [
        (0, 1.0, 0.0),
        (10, 0.5, -0.5),
        (20, 0.25, None),
    ]


def test_one_scene_alone_has_a_curve_without_bands():
    for entry in drift_curve(clips([0.5] * 6, [0.7] * 6, scenes=["a", "a"]), 3):
        assert (entry.estimate.mean, entry.estimate.low, entry.estimate.high) == (pytest.approx(0.6), None, None)


def test_no_value_is_no_curve():
    empty = np.array([], np.int64)
    data = FrameValues(frames=empty, values=np.array([]), rollouts=empty, scenes=[])
    assert drift_curve(data, default_bin_width(empty)) == ()


@pytest.mark.parametrize("width", [0, -3])
def test_a_bin_of_no_frames_is_refused(width):
    with pytest.raises(ValueError, match="at least one frame wide"):
        drift_curve(clips([1.0]), width)


@pytest.mark.parametrize(("length", "width", "bins"), [(1, 1, 1), (20, 1, 20), (21, 2, 11), (400, 20, 20), (97, 5, 20)])
def test_the_usual_width_gives_about_twenty_bins(length, width, bins):
    assert default_bin_width(np.arange(length)) == width
    assert len(drift_curve(clips([0.5] * length), width)) == bins


@given(ROWS, st.randoms(use_true_random=False), st.integers(1, 50))
def test_neither_the_order_of_rows_nor_the_names_of_scenes_nor_the_numbers_of_rollouts_matter(rows, rng, width):
    rows = list({(frame, rollout): (frame, value, rollout) for frame, value, rollout in rows}.values())
    data = rows_of(rows)
    shuffled = rng.sample(rows, len(rows))
    other = [(frame, value, 5 - rollout) for frame, value, rollout in shuffled]
    renamed = replace(rows_of(other), scenes=[f"the scene {name}" for name in reversed(SCENES)])
    first, second = drift_curve(data, width), drift_curve(renamed, width)
    assert [(b.first, b.last) for b in first] == [(b.first, b.last) for b in second]
    assert drift_curve(rows_of(shuffled), width) == first
    for one, two in zip(first, second, strict=True):
        assert one.frame == pytest.approx(two.frame)
        assert same(one.estimate, two.estimate)
        assert same(one.change, two.change)


@given(ROWS, st.floats(-5, 5), st.integers(1, 50))
def test_a_constant_moves_the_means_and_leaves_the_changes(rows, constant, width):
    data = rows_of(rows)
    moved = drift_curve(replace(data, values=data.values + constant), width)
    for one, two in zip(drift_curve(data, width), moved, strict=True):
        assert same(one.estimate, two.estimate, moved=constant)
        assert same(one.change, two.change)


@given(ROWS, st.integers(1, 50))
def test_every_number_of_a_curve_is_finite_and_every_rollout_is_somewhere(rows, width):
    curve = drift_curve(rows_of(rows), width)
    for entry in curve:
        assert entry.first <= entry.frame <= entry.last
        for estimate in (entry.estimate, entry.change):
            if estimate:
                assert all(math.isfinite(n) for n in (estimate.mean, estimate.low or 0.0, estimate.high or 0.0))
    cells = {(frame // width, rollout) for frame, _, rollout in rows}
    assert sum(entry.estimate.scored for entry in curve) == len(cells)
