from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Estimate
from lookaway.statistics.intervals import scene_mean

T_QUANTILES = {4: 2.7764451, 9: 2.2621572}
"""Student's t at 0.975 by degrees of freedom, from a printed table."""

VALUES = st.lists(st.tuples(st.floats(0, 1, allow_subnormal=False), st.sampled_from("abcde")), min_size=1, max_size=30)


def naive_error(values, scenes) -> float:
    """The sandwich of a regression on a constant, scene by scene, with the usual correction for few clusters."""
    mean = sum(values) / len(values)
    names = sorted(set(scenes))
    meat = 0.0
    for name in names:
        meat += sum(value - mean for value, scene in zip(values, scenes, strict=True) if scene == name) ** 2
    bread = 1 / len(values)
    groups, count, parameters = len(names), len(values), 1
    correction = groups / (groups - 1) * (count - 1) / (count - parameters)
    return math.sqrt(bread * meat * bread * correction)


def half_width(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / 2


def test_scenes_of_one_rollout_have_the_interval_of_a_plain_mean():
    values = np.array([0.1, 0.4, 0.35, 0.8, 0.9])
    estimate = scene_mean(values, ["a", "b", "c", "d", "e"])
    assert estimate.mean == pytest.approx(values.mean())
    assert half_width(estimate) == pytest.approx(T_QUANTILES[4] * values.std(ddof=1) / math.sqrt(5))


def test_scenes_of_equal_size_have_the_interval_of_their_means():
    values = np.array([[0.1, 0.2, 0.3], [0.7, 0.6, 0.8], [0.4, 0.1, 0.9], [0.2, 0.2, 0.1], [0.5, 0.9, 0.4]])
    estimate = scene_mean(values.ravel(), np.repeat(list("abcde"), 3).tolist())
    means = values.mean(axis=1)
    assert half_width(estimate) == pytest.approx(T_QUANTILES[4] * means.std(ddof=1) / math.sqrt(5))


@pytest.mark.parametrize("seed", range(5))
def test_scenes_of_unequal_size_have_the_clustered_error(seed):
    rng = np.random.default_rng(seed)
    scenes = rng.permutation(np.repeat(list("abcdefghij"), rng.integers(1, 9, 10))).tolist()
    values = rng.uniform(0, 1, len(scenes))
    expected = T_QUANTILES[9] * naive_error(values.tolist(), scenes)
    assert half_width(scene_mean(values, scenes)) == pytest.approx(expected)


def test_another_level_has_another_width():
    values, scenes = np.array([0.1, 0.5, 0.9, 0.4, 0.3]), list("abcde")
    narrow, wide = scene_mean(values, scenes, level=0.5), scene_mean(values, scenes, level=0.99)
    assert half_width(narrow) < half_width(scene_mean(values, scenes)) < half_width(wide)


def test_one_scene_alone_has_a_mean_but_no_interval():
    estimate = scene_mean(np.array([0.2, 0.4, 0.9]), ["a", "a", "a"])
    assert (estimate.mean, estimate.scored, estimate.scenes) == (pytest.approx(0.5), 3, 1)
    assert (estimate.low, estimate.high, estimate.scene_means) == (None, None, (pytest.approx(0.5),))


@pytest.mark.parametrize("value_range", [(0.0, 1.0), (None, None)])
def test_fewer_than_five_scenes_have_their_own_means_in_place_of_an_interval(value_range):
    values, scenes = np.array([0.9, 0.2, 0.4, 0.8, 0.6]), ["d", "a", "a", "c", "b"]
    estimate = scene_mean(values, scenes, value_range)
    assert (estimate.mean, estimate.low, estimate.high) == (pytest.approx(0.58), None, None)
    assert estimate.scene_means == pytest.approx((0.3, 0.6, 0.8, 0.9))
    fifth = scene_mean(values, list("dacbe"), value_range)
    assert fifth.low < fifth.mean < fifth.high
    assert fifth.scene_means == ()


def test_no_value_has_no_estimate():
    assert scene_mean(np.array([]), []) is None


def test_more_seeds_that_say_the_same_do_not_narrow_the_interval():
    values, scenes = np.array([0.1, 0.5, 0.9, 0.3, 0.7, 0.4]), ["a", "b", "c", "a", "d", "e"]
    once, ten_times = scene_mean(values, scenes), scene_mean(np.repeat(values, 10), np.repeat(scenes, 10).tolist())
    assert (ten_times.low, ten_times.high) == (pytest.approx(once.low), pytest.approx(once.high))
    assert (once.scored, ten_times.scored, ten_times.scenes) == (6, 60, 5)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_scenes_do_not_matter(rows, rng):
    other = [(value, f"scene {scene}") for value, scene in rows]
    rng.shuffle(other)
    first, second = (
        scene_mean(np.array([value for value, _ in data]), [scene for _, scene in data]) for data in (rows, other)
    )
    for name in ("mean", "low", "high"):
        ours, theirs = getattr(first, name), getattr(second, name)
        assert theirs == (None if ours is None else pytest.approx(ours, rel=1e-9, abs=1e-9))
    assert (first.scored, first.scenes) == (second.scored, second.scenes)


@given(VALUES)
def test_the_interval_holds_the_mean_in_its_middle(rows):
    estimate = scene_mean(np.array([value for value, _ in rows]), [scene for _, scene in rows])
    if estimate.low is None:
        assert estimate.scenes < 5 or len(estimate.scene_means) == 1
    else:
        assert estimate.low <= estimate.mean <= estimate.high
        assert estimate.mean - estimate.low == pytest.approx(estimate.high - estimate.mean)
