from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lookaway.statistics.paired_difference import sign_flip, signed_ranks

DIFFERENCES = st.lists(st.integers(-6, 6).map(lambda number: number / 10), min_size=1, max_size=9)


def naive_p(differences) -> float:
    """Every choice of signs, one at a time, in whole numbers."""
    tenths = [round(10 * difference) for difference in differences]
    sums = [
        sum(s * t for s, t in zip(signs, tenths, strict=True))
        for signs in itertools.product((1, -1), repeat=len(tenths))
    ]
    return sum(abs(found) >= abs(sum(tenths)) for found in sums) / len(sums)


@given(DIFFERENCES)
def test_p_is_that_of_trying_every_choice_of_signs(differences):
    found = sign_flip(np.array(differences))
    assert found.p == pytest.approx(naive_p(differences), abs=1e-12)
    assert found.flips == 2 ** np.count_nonzero(differences)
    assert found.seed is None


@pytest.mark.parametrize("count", [1, 2, 5, 6, 20])
def test_differences_that_all_point_one_way_have_the_min_p_there_is(count):
    assert sign_flip(np.linspace(0.1, 0.3, count)).p == 2 / 2**count


def test_p_is_that_of_scipy():
    differences = np.random.default_rng(3).normal(0.3, 1.0, 11)
    theirs = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flip(differences).p == pytest.approx(theirs.pvalue, abs=1e-8)


def test_more_than_twenty_differences_are_drawn_and_the_seed_is_told():
    differences = np.random.default_rng(5).normal(0.25, 1.0, 60)
    found = sign_flip(differences, seed=7)
    assert (found.flips, found.seed) == (9_999, 7)
    assert (found.p * 10_000) == pytest.approx(round(found.p * 10_000), abs=1e-9)
    assert found.p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.02)
    assert found == sign_flip(differences, seed=7)
    assert found.p != sign_flip(differences, seed=8).p


def test_drawn_and_exact_p_agree_to_sampling_error():
    differences = np.random.default_rng(8).normal(0.3, 1.0, 20)
    with_another = np.append(differences, 1e-9)
    assert sign_flip(differences).seed is None
    assert sign_flip(with_another).seed == 0
    assert sign_flip(with_another).p == pytest.approx(sign_flip(differences).p, abs=0.015)


def test_a_drawn_p_is_never_zero():
    assert sign_flip(np.ones(400)).p == 1 / 10_000


def test_zeros_change_neither_p_nor_whether_it_is_exact():
    differences = np.array([0.4, -0.1, 0.3, 0.2])
    assert sign_flip(np.concatenate([differences, np.zeros(100)])) == sign_flip(differences)


@pytest.mark.parametrize("test", [sign_flip, signed_ranks])
def test_no_difference_at_all_speaks_for_nothing_and_none_is_no_test(test):
    assert test(np.zeros(4)).p == 1.0
    assert signed_ranks(np.zeros(4)).min_p == 1.0
    with pytest.raises(ValueError, match="at least one difference"):
        test(np.array([]))


@pytest.mark.parametrize("test", [sign_flip, signed_ranks])
@given(DIFFERENCES, st.randoms(use_true_random=False), st.sampled_from([0.001, 3.0, 1e6]))
def test_order_sign_and_unit_do_not_matter(test, differences, rng, unit):
    values = np.array(differences)
    plain = test(values).p
    rng.shuffle(differences)
    assert test(np.array(differences)).p == plain
    assert test(-values).p == plain
    assert test(unit * values).p == plain


@pytest.mark.parametrize("count", [10, 30])
def test_without_an_effect_small_p_are_as_rare_as_they_say(count):
    rng = np.random.default_rng(12)
    p = np.array([sign_flip(rng.standard_t(3, count), draws=399, seed=turn).p for turn in range(1_000)])
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("count", "least"), [(5, 0.0625), (6, 0.03125)])
def test_the_min_p_of_signed_ranks_is_told(count, least):
    found = signed_ranks(np.append(np.linspace(0.1, 1, count), [0.0, 0.0]))
    assert (found.p, found.min_p, found.differences, found.zeros) == (least, least, count, 2)


@pytest.mark.parametrize("count", [4, 9, 15, 20])
def test_signed_ranks_are_those_of_scipy_where_scipy_is_exact(count):
    differences = np.random.default_rng(count).normal(0.4, 1.0, count)
    found = signed_ranks(differences)
    assert found.is_exact
    assert found.p == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue, abs=1e-8)


def test_zeros_and_ties_are_ranked_in_the_way_of_pratt():
    differences = np.array([0.0, 0.0, 0.1, 0.1, -0.1, 0.2, 0.3, 0.3, -0.4, 0.5])
    every = stats.PermutationMethod(n_resamples=np.inf)
    theirs = stats.wilcoxon(differences, zero_method="pratt", method=every)
    assert signed_ranks(differences).p == pytest.approx(theirs.pvalue, abs=1e-8)
    assert signed_ranks(differences).p == 0.1953125  # scipy 1.17.1


def test_differences_that_are_equal_but_for_rounding_share_a_rank():
    thirds = np.array([2 / 3 - 1 / 3, 1 / 3, -(1 - 2 / 3), 0.9 - 0.1, 1e-17])
    assert len(set(np.abs(thirds[:3]))) > 1
    assert signed_ranks(thirds) == signed_ranks(np.array([1.0, 1.0, -1.0, 2.4, 0.0]))


def test_signed_ranks_of_many_differences_are_those_of_scipy():
    differences = np.round(np.random.default_rng(21).normal(0.2, 1.0, 60), 1)
    theirs = stats.wilcoxon(differences, zero_method="pratt", correction=False, method="asymptotic")
    found = signed_ranks(differences)
    assert not found.is_exact
    assert found.zeros > 0
    assert found.p == pytest.approx(theirs.pvalue, abs=1e-8)
