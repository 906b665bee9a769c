from __future__ import annotations

import numpy as np
import pytest

from lookaway.statistics.intervals import scene_mean
from lookaway.statistics.scene_replicates import SumStatistic, replicate_estimate, safe_divide


def draws(scenes: int, replicates: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(scenes, np.full(scenes, 1 / scenes), replicates).astype(float)


def mean_of(values) -> SumStatistic:
    columns = np.column_stack([values, np.ones(len(values))])
    return SumStatistic(columns, lambda sums: safe_divide(sums[:, 0], sums[:, 1]))


@pytest.mark.parametrize("count", [8, 15, 40])
def test_the_interval_of_a_mean_is_as_wide_as_its_clustered_t_interval(count):
    rng = np.random.default_rng(1)
    scenes = np.repeat([f"scene {number:02d}" for number in range(count)], 4).tolist()
    values = rng.normal(size=count).repeat(4) + rng.normal(size=4 * count)
    ours, known = mean_of(values).estimate(scenes, draws(count, 20_000)), scene_mean(values, scenes)
    assert ours.mean == pytest.approx(known.mean)
    assert ours.high - ours.low == pytest.approx(known.high - known.low, rel=0.12)
    assert (ours.scored, ours.scenes) == (4 * count, count)


def test_weights_belong_to_scenes_in_the_order_of_their_names():
    values, scenes = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), ["c", "a", "b", "e", "d"]
    only_c_or_d = np.repeat(np.eye(5)[[2, 3]], 50, axis=0)
    found = mean_of(values).estimate(scenes, only_c_or_d)
    assert (found.low, found.high) == (1.0, 16.0)


def test_without_weights_or_with_one_scene_there_is_no_interval():
    alone = mean_of([1.0, 2.0]).estimate(["a", "a"], np.full((10, 1), 1.0))
    without = mean_of([1.0, 2.0]).estimate(["a", "b"], None)
    assert (alone.mean, alone.low, alone.high, alone.scenes) == (1.5, None, None, 1)
    assert (without.mean, without.low, without.high, without.scenes) == (1.5, None, None, 2)


def test_what_is_not_defined_has_no_estimate():
    assert mean_of(np.zeros(0)).value() is None
    assert mean_of(np.zeros(0)).estimate([], None) is None


def test_an_interval_counts_only_where_nearly_all_replicates_are_defined():
    replicates = np.linspace(0, 1, 100)
    replicates[:5] = np.nan
    assert replicate_estimate(0.5, replicates, scored=9, scenes=9).low is not None
    replicates[:6] = np.nan
    assert replicate_estimate(0.5, replicates, scored=9, scenes=9).low is None


def test_the_interval_stays_inside_what_was_drawn():
    found = replicate_estimate(0.9, np.linspace(0.7, 1.0, 500), scored=6, scenes=5)
    assert 0.7 <= found.low < found.high <= 1.0


@pytest.mark.parametrize(("replicates", "scenes"), [(np.linspace(0.7, 1.0, 500), 4), (np.ones(500), 40)])
def test_fewer_than_five_scenes_and_replicates_that_are_all_equal_have_no_interval(replicates, scenes):
    found = replicate_estimate(1.0, replicates, scored=80, scenes=scenes)
    assert (found.mean, found.low, found.high) == (1.0, None, None)


def test_another_level_has_another_width():
    replicates = np.random.default_rng(1).normal(size=4000)
    narrow, wide = (replicate_estimate(0.0, replicates, scored=9, scenes=30, level=level) for level in (0.5, 0.95))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_weights_for_other_scenes_are_refused():
    with pytest.raises(ValueError, match=r"\[replicates, 2 scenes\], found \[5, 3\]"):
        mean_of([1.0, 2.0]).estimate(["a", "b"], np.ones((5, 3)))
    with pytest.raises(ValueError, match="2 rows and 1 scenes"):
        mean_of([1.0, 2.0]).estimate(["a"], None)
