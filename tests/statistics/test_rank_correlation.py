from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from lookaway.statistics.rank_correlation import ModelReplicates, linear_correlation, rank_correlation


def by_distance(models: int, squares: int) -> np.ndarray:
    """An order of the models with this sum of squared rank differences."""
    for order in permutations(range(models)):
        if sum((place - model) ** 2 for place, model in enumerate(order)) == squares:
            return np.array(order, float)
    raise AssertionError


@pytest.mark.parametrize(
    ("models", "squares", "rho", "p"),
    [
        (6, 2, 0.94, 0.017),
        (6, 10, 0.71, 0.136),
        (6, 16, 0.54, 0.297),
        (8, 2, 0.98, 0.0004),
        (8, 16, 0.81, 0.022),
        (8, 22, 0.74, 0.046),
        (8, 24, 0.71, 0.058),
    ],
)
def test_few_models_prove_little(models, squares, rho, p):
    found = rank_correlation(np.arange(models, dtype=float), by_distance(models, squares), seed=0)
    assert found.spearman.value == pytest.approx(rho, abs=0.005)
    assert found.spearman.p == pytest.approx(p, abs=0.0005)
    assert found.is_exact


@pytest.mark.parametrize(
    ("models", "squares", "low", "high"), [(6, 2, 0.38, 0.996), (6, 10, -0.36, 0.97), (8, 16, 0.115, 0.97)]
)
def test_other_models_could_have_given_nearly_anything(models, squares, low, high):
    found = rank_correlation(np.arange(models, dtype=float), by_distance(models, squares), seed=0)
    assert found.spearman.over_models == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.005))
    assert found.kendall.over_models is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("levels", [4, 1000])
def test_values_agree_with_scipy_with_and_without_ties(levels, seed):
    rng = np.random.default_rng(seed)
    metric, people = rng.integers(0, levels, (2, 7)).astype(float)
    found = rank_correlation(metric, people, seed=0)
    assert found.spearman.value == pytest.approx(stats.spearmanr(metric, people).statistic, abs=1e-12)
    assert found.kendall.value == pytest.approx(stats.kendalltau(metric, people).statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_p_is_the_share_of_all_orders_counted_one_by_one(seed):
    metric, people = np.random.default_rng(seed).integers(0, 5, (2, 5)).astype(float)
    found = rank_correlation(metric, people, seed=0)
    for ours, other in ((found.spearman, stats.spearmanr), (found.kendall, stats.kendalltau)):
        values = [abs(other(metric, np.array(order)).statistic) for order in permutations(people)]
        assert ours.p == pytest.approx(np.mean(np.array(values) >= abs(ours.value) - 1e-9))
    assert found.orders == 120


def test_the_p_of_kendall_without_ties_is_scipys_exact_one():
    metric, people = np.arange(9.0), np.array([1.0, 0, 3, 2, 6, 4, 5, 8, 7])
    found = rank_correlation(metric, people, seed=0)
    assert found.kendall.p == pytest.approx(stats.kendalltau(metric, people, method="exact").pvalue, abs=1e-12)
    assert found.orders == 362_880


def test_the_same_order_has_one_and_the_opposite_minus_one_with_the_smallest_p_there_is():
    metric = np.array([0.1, 0.5, 0.7, 2.0])
    same, opposite = rank_correlation(metric, metric**3, seed=0), rank_correlation(metric, -metric, seed=0)
    assert (same.spearman.value, same.kendall.value) == (1, 1)
    assert (opposite.spearman.value, opposite.kendall.value) == (-1, -1)
    assert same.spearman.p == same.kendall.p == opposite.spearman.p == 2 / 24
    assert same.spearman.over_models is None


def test_models_that_are_all_equal_have_no_correlation():
    found = rank_correlation(np.ones(4), np.arange(4.0), seed=0)
    assert (found.spearman, found.kendall, found.models) == (None, None, 4)


def test_the_order_of_models_and_the_scale_do_not_matter():
    rng = np.random.default_rng(1)
    metric, people = rng.normal(size=(2, 7))
    order = rng.permutation(7)
    plain, other = (
        rank_correlation(metric, people, seed=0),
        rank_correlation(np.exp(metric[order]), 5 * people[order], seed=0),
    )
    for one, two in ((plain.spearman, other.spearman), (plain.kendall, other.kendall)):
        assert (two.value, two.p) == (pytest.approx(one.value), one.p)
    turned = rank_correlation(-metric, people, seed=0)
    assert (turned.kendall.value, turned.kendall.p) == (pytest.approx(-plain.kendall.value), plain.kendall.p)


def test_more_models_are_shuffled_by_the_seed_and_p_is_never_zero():
    metric = np.arange(10.0)
    found = rank_correlation(metric, metric, seed=3, shuffles=999)
    assert (found.is_exact, found.orders, found.seed) == (False, 999, 3)
    assert found.spearman.p == found.kendall.p == 1 / 1000
    people = np.array([4.0, 0, 3, 6, 1, 9, 2, 8, 5, 7])
    shuffled = rank_correlation(metric, people, seed=3, shuffles=4000)
    assert shuffled == rank_correlation(metric, people, seed=3, shuffles=4000)
    assert shuffled.kendall.p == pytest.approx(stats.kendalltau(metric, people, method="exact").pvalue, abs=0.02)


def test_other_scenes_give_an_interval_inside_the_range():
    rng = np.random.default_rng(5)
    metric, people = np.arange(6.0), np.array([0.0, 1, 2, 3, 5, 4])
    replicates = ModelReplicates(
        metric=metric + rng.normal(0, 0.5, (500, 6)), people=people + rng.normal(0, 0.5, (500, 6)), scenes=30
    )
    found = rank_correlation(metric, people, seed=0, replicates=replicates)
    for one in (found.spearman, found.kendall):
        assert -1 <= one.over_scenes.low < one.value <= one.over_scenes.high <= 1
        assert (one.over_scenes.scored, one.over_scenes.scenes) == (6, 30)
    still = ModelReplicates(metric=np.tile(metric, (9, 1)), people=np.tile(people, (9, 1)), scenes=30)
    unmoved = rank_correlation(metric, people, seed=0, replicates=still).spearman
    assert (unmoved.over_scenes.mean, unmoved.over_scenes.low) == (unmoved.value, None)
    assert rank_correlation(metric, people, seed=0).spearman.over_scenes is None


def test_one_model_or_lists_that_do_not_match_are_refused():
    for metric, people in [(np.ones(1), np.ones(1)), (np.ones(3), np.ones(4))]:
        with pytest.raises(ValueError, match="two or more models with a number of each"):
            rank_correlation(metric, people, seed=0)


def test_a_linear_correlation_is_that_of_pearson_with_the_interval_of_fisher():
    rng = np.random.default_rng(5)
    one = rng.normal(size=23)
    other = one + rng.normal(size=23)
    found, expected = linear_correlation(one, other), stats.pearsonr(one, other)
    assert found.value == pytest.approx(expected.statistic)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.models == 23


def test_a_linear_correlation_needs_three_models_that_differ():
    assert linear_correlation(np.array([1.0, 2.0]), np.array([2.0, 1.0])) is None
    for equal in (0.0, 0.1, 1.0):
        assert linear_correlation(np.full(6, equal), np.arange(6.0)) is None
    three = linear_correlation(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    assert (three.models, three.interval) == (3, None)
    perfect = linear_correlation(np.arange(5.0), np.arange(5.0))
    assert (perfect.value, perfect.interval) == (pytest.approx(1.0), None)
    with pytest.raises(ValueError, match="two numbers of each model"):
        linear_correlation(np.arange(3.0), np.arange(4.0))
