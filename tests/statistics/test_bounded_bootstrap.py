from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lookaway.statistics import scene_bootstrap
from lookaway.statistics.intervals import mean_estimates, proportion, scene_mean
from lookaway.statistics.scene_bootstrap import exponential_weights, named_scene_sums

UNIT = (0.0, 1.0)
NAMES = [f"{number:03}" for number in range(300)]


def interval(values, value_range=UNIT, **options) -> tuple[float, float]:
    found = scene_mean(np.asarray(values, np.float64), NAMES[: len(values)], value_range, **options)
    return found.low, found.high


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=5, max_size=40))
def test_an_interval_stays_inside_the_range_holds_the_mean_and_has_a_width(values):
    low, high = interval(values)
    assert 0.0 <= low <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= high <= 1.0
    assert high - low > 1e-3


@pytest.mark.parametrize(("value", "end"), [(0.0, 0), (1.0, 1)])
@pytest.mark.parametrize("scenes", [5, 20, 100])
def test_scenes_that_all_have_the_best_or_the_worst_value_are_not_sure_of_the_next(value, end, scenes):
    ends = interval(np.full(scenes, value))
    assert ends[end] == value
    # The weight of half a scene among so many, at 0.975.
    assert abs(ends[1 - end] - value) == pytest.approx(stats.beta.ppf(0.975, 0.5, scenes), rel=0.05)


def test_yes_and_no_have_nearly_the_interval_of_wilson():
    for hits in (3, 10, 17):
        known = proportion(hits, 20)
        assert interval(np.arange(20) < hits) == pytest.approx((known.low, known.high), abs=0.05)


def test_with_whole_scenes_added_yes_and_no_have_the_interval_of_clopper_and_pearson(monkeypatch):
    monkeypatch.setattr(scene_bootstrap, "ADDED_SCENES", 1.0)
    scene_bootstrap._added_weights.cache_clear()
    found = interval(np.arange(20) < 15)
    scene_bootstrap._added_weights.cache_clear()
    known = stats.binomtest(15, 20).proportion_ci(method="exact")
    assert found == pytest.approx((known.low, known.high), abs=0.01)


def test_other_ranges_are_scaled_and_the_other_way_round_turns_the_interval_over():
    values = np.random.default_rng(2).beta(8, 2, 12)
    low, high = interval(values)
    assert interval(180 * values, (0.0, 180.0)) == pytest.approx((180 * low, 180 * high))
    assert interval(2 * values - 1, (-1.0, 1.0)) == pytest.approx((2 * low - 1, 2 * high - 1))
    assert interval(1 - values) == pytest.approx((1 - high, 1 - low))


def test_more_seeds_that_say_the_same_do_not_narrow_the_interval():
    values = np.random.default_rng(3).random(9)
    often = scene_mean(np.repeat(values, 7), np.repeat(NAMES[:9], 7).tolist(), UNIT)
    assert (often.low, often.high) == pytest.approx(interval(values))


def test_an_interval_tends_to_that_of_t_as_scenes_grow():
    values = np.clip(np.random.default_rng(4).normal(0.5, 0.12, 300), 0, 1)
    with_t = scene_mean(values, NAMES, (0.0, None))
    low, high = interval(values)
    assert high - low == pytest.approx(with_t.high - with_t.low, rel=0.1)


def test_a_value_beyond_its_range_widens_it():
    low, high = interval([0.5, 0.6, 0.7, 1.0, 1.2])
    assert low < 0.8 < high <= 1.2


def test_half_a_range_keeps_t_and_cuts_it_off_at_its_end():
    values = [0.0, 0.0, 0.1, 0.2, 4.0]
    plain, cut = interval(values, (None, None)), interval(values, (0.0, None))
    assert plain[0] < 0
    assert cut == (0.0, plain[1])


def test_cells_of_different_size_and_range_do_not_disturb_each_other(monkeypatch):
    random = np.random.default_rng(5)
    cells = [named_scene_sums(random.random(2 * scenes), NAMES[:scenes] * 2) for scenes in (5, 60, 12, 3)]
    ranges = [UNIT, (0.0, 2.0), (None, None), UNIT]
    together = mean_estimates(cells, ranges)
    monkeypatch.setattr("lookaway.statistics.intervals.VALUES_AT_ONCE", 2_000)
    for found in (
        mean_estimates(cells, ranges),
        [mean_estimates([c], [r])[0] for c, r in zip(cells, ranges, strict=True)],
    ):
        for one, other in zip(together, found, strict=True):
            assert (one.mean, one.scene_means) == (other.mean, other.scene_means)
            assert (one.low, one.high) == (None, None) or (one.low, one.high) == pytest.approx((other.low, other.high))


def test_weights_are_exponential():
    weights = np.concatenate(list(exponential_weights(30, draws=4_000, seed=1)))
    assert weights.shape == (30, 4_000)
    assert stats.kstest(weights.ravel()[:20_000], "expon").statistic < 0.01
    assert abs(np.corrcoef(weights)[np.triu_indices(30, 1)]).max() < 0.08
