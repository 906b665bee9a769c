from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lookaway.statistics.drift import FrameValues, HalfLife, half_life, worst_value
from tests.statistics.test_drift import clips

LINE = 1.0 - 0.01 * np.arange(100)


def life(data: FrameValues, width: int = 5, *, towards: float = 0.0, higher_is_better: bool = True) -> HalfLife | None:
    return half_life(data, width, towards=towards, higher_is_better=higher_is_better)


@pytest.mark.parametrize("width", [1, 3, 5, 10, 7])
@pytest.mark.parametrize("towards", [0.0, 0.3, -0.5])
def test_linear_decay_has_the_half_life_of_its_formula(width, towards):
    found = life(clips(*[LINE] * 5), width, towards=towards)
    start = 1.0 - 0.01 * (width - 1) / 2
    assert found.start == pytest.approx(start, abs=1e-12)
    assert found.frames == pytest.approx((1.0 - (start + towards) / 2) / 0.01, abs=1e-9)
    assert found.interval == (pytest.approx(found.frames, abs=1e-9), pytest.approx(found.frames, abs=1e-9))


def test_clips_of_different_lengths_on_one_line_have_the_half_life_of_the_line():
    found = life(clips(LINE, LINE[:93], LINE[:61], LINE[:22]), 10)
    assert found.frames == pytest.approx(life(clips(LINE), 10).frames, abs=1e-9)


def test_an_error_that_grows_has_the_half_life_of_a_score_that_falls():
    rng = np.random.default_rng(3)
    noisy = [LINE + rng.normal(0, 0.05, len(LINE)) for _ in range(6)]
    falls = life(clips(*noisy), towards=0.1)
    grows = life(clips(*[2.0 - one for one in noisy]), towards=1.9, higher_is_better=False)
    assert grows.frames == pytest.approx(falls.frames)
    assert grows.interval == pytest.approx(falls.interval)


def test_a_step_is_half_way_between_the_bins_on_its_two_sides():
    found = life(clips([1.0] * 50 + [0.0] * 50, [1.0] * 50 + [0.0] * 50), 10)
    assert found.frames == pytest.approx((44.5 + 54.5) / 2)


def test_reaching_half_exactly_at_a_bin_is_reaching_it():
    assert life(clips([1.0, 0.75, 0.5, 0.5]), 1).frames == 2.0


@pytest.mark.parametrize("last", [0.8, 0.41, 1.2], ids=["constant", "nearly half", "improves"])
def test_what_does_not_fall_to_half_lasts_longer_than_the_clips(last):
    series = np.linspace(0.8, last, 100)
    found = life(clips(*[series] * 5), 10)
    assert (found.frames, found.interval, found.within) == (None, (None, None), 94.5)
    assert found.start == pytest.approx(series[:10].mean())


def test_the_first_time_counts_even_where_the_model_recovers():
    found = life(clips([1.0] * 10 + [0.0] * 10 + [1.0] * 10), 10)
    assert found.frames == pytest.approx((4.5 + 14.5) / 2)


def test_what_starts_no_better_than_nothing_has_no_half_life():
    assert life(clips([0.3] * 20, [0.3] * 20), towards=0.3) is None
    assert life(clips([0.2] * 20), towards=0.3) is None
    assert life(clips([0.4] * 20), towards=0.3, higher_is_better=False) is None


def test_no_value_has_no_half_life():
    empty = np.array([], np.int64)
    assert life(FrameValues(frames=empty, values=np.array([]), rollouts=empty, scenes=[])) is None


def test_one_scene_alone_has_a_half_life_without_an_interval():
    found = life(clips(LINE, LINE - 0.1, scenes=["a", "a"]))
    assert found.frames is not None
    assert found.interval is None


def test_a_tail_that_one_scene_alone_reaches_is_not_followed():
    forgets_at_last = [1.0] * 30 + [0.0] * 10
    found = life(clips(forgets_at_last, [1.0] * 20, [1.0] * 30), 10)
    assert (found.frames, found.interval, found.within) == (None, None, 24.5)
    followed = life(clips(forgets_at_last, forgets_at_last, [1.0] * 20), 10)
    assert followed.frames == pytest.approx(29.5)


def test_a_curve_with_an_interval_is_followed_as_long_as_five_scenes_have_values():
    forgets_at_last = [1.0] * 30 + [0.0] * 10
    found = life(clips(*[forgets_at_last] * 4, [1.0] * 20), 10)
    assert (found.frames, found.interval, found.within) == (None, (None, None), 14.5)
    assert life(clips(*[forgets_at_last] * 5, [1.0] * 20), 10).frames == pytest.approx(29.5)


def test_short_easy_clips_do_not_make_long_ones_look_forgetful():
    found = life(clips(*[[1.0] * 10] * 4, *[[0.3] * 40] * 2), 10)
    assert found.frames is None


def test_a_rollout_without_a_first_bin_takes_no_part():
    data = clips(LINE, LINE, [0.0] * 100)
    is_kept = (data.rollouts < 2) | ((data.frames >= 5) & (data.frames % 5 == 0))
    late = replace(data, frames=data.frames[is_kept], values=data.values[is_kept], rollouts=data.rollouts[is_kept])
    assert life(late).frames == pytest.approx(life(clips(LINE, LINE)).frames)


def test_a_constant_and_a_scale_that_nothing_left_shares_change_nothing():
    rng = np.random.default_rng(5)
    data = clips(*[LINE + rng.normal(0, 0.1, len(LINE)) for _ in range(5)])
    plain, moved = life(data), life(replace(data, values=7.0 + 3.0 * data.values), towards=7.0)
    assert moved.frames == pytest.approx(plain.frames, abs=1e-9)
    assert moved.interval == pytest.approx(plain.interval, abs=1e-9)


def test_the_order_of_rows_and_the_names_of_scenes_change_nothing():
    rng = np.random.default_rng(6)
    data = clips(*[LINE + rng.normal(0, 0.1, len(LINE)) for _ in range(7)], scenes=list("aabbcde"))
    order = rng.permutation(len(data.values))
    other = FrameValues(
        frames=data.frames[order], values=data.values[order], rollouts=data.rollouts[order], scenes=list("zzxxyvw")
    )
    assert life(other).frames == life(data).frames
    assert life(other).interval == pytest.approx(life(data).interval)


def test_more_seeds_that_say_the_same_do_not_narrow_the_interval():
    rng = np.random.default_rng(7)
    series = [LINE + rng.normal(0, 0.1) for _ in range(5)]
    once, ten_times = life(clips(*series, scenes=list("abcde"))), life(clips(*series * 10, scenes=list("abcde") * 10))
    assert ten_times.interval == pytest.approx(once.interval)


def test_an_interval_may_be_open_to_the_right():
    found = life(clips(*[1.0 - rate * np.arange(60) for rate in (0.01, 0.013, 0.007, 0.014, 0.006)]), 5)
    low, high = found.interval
    assert low < found.frames < found.within
    assert high is None


def test_nothing_is_left_at_the_worst_value_or_at_nought_on_the_way_there():
    assert worst_value((0.0, 1.0), higher_is_better=True) == 0.0
    assert worst_value((0.0, None), higher_is_better=True) == 0.0
    assert worst_value((1.0, 5.0), higher_is_better=True) == 1.0
    assert worst_value((-1.0, 1.0), higher_is_better=True) == 0.0
    assert worst_value((-1.0, None), higher_is_better=True) == 0.0
    assert worst_value((-9.0, 0.0), higher_is_better=True) == -9.0
    assert worst_value((None, 0.0), higher_is_better=True) is None
    assert worst_value((0.0, 180.0), higher_is_better=False) == 180.0
    assert worst_value((0.0, None), higher_is_better=False) is None
