from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lookaway.statistics.paired_difference import false_discovery

TABLE = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_each_p_is_multiplied_by_the_family_and_divided_by_its_rank():
    found = false_discovery([0.01, 0.5, 0.02])
    assert found.q == pytest.approx((0.03, 0.5, 0.03))
    assert (found.family, found.tests_may_depend) == (3, False)


def test_under_dependence_the_harmonic_sum_comes_on_top():
    found = false_discovery([0.01, 0.5, 0.02], tests_may_depend=True)
    harmonic = 1 + 1 / 2 + 1 / 3
    assert found.q == pytest.approx((0.03 * harmonic, 0.5 * harmonic, 0.03 * harmonic))
    assert found.tests_may_depend


def test_q_values_are_those_of_statsmodels():
    # multipletests(TABLE, method="fdr_bh" and "fdr_by"), statsmodels 0.15.0
    expected = [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105714285714, 0.216, 0.216, 0.216]
    assert false_discovery(TABLE).q == pytest.approx(expected, abs=1e-10)
    expected = [
        0.0292896825397,
        0.117158730159,
        0.246033333333,
        0.246033333333,
        0.246033333333,
        0.292896825397,
        0.309633786848,
        0.632657142857,
        0.632657142857,
        0.632657142857,
    ]
    assert false_discovery(TABLE, tests_may_depend=True).q == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("may_depend", "method"), [(False, "fdr_bh"), (True, "fdr_by")])
def test_statsmodels_still_says_so(may_depend, method):
    multitest = pytest.importorskip(
        "statsmodels.stats.multitest", reason="statsmodels, a library to compare with, is not installed"
    )
    p_values = np.random.default_rng(3).beta(0.3, 1.0, 200)
    theirs = multitest.multipletests(p_values, method=method)[1]
    assert false_discovery(p_values.tolist(), tests_may_depend=may_depend).q == pytest.approx(theirs, abs=1e-8)


@given(P_VALUES, st.booleans())
def test_q_values_are_those_of_scipy(p_values, may_depend):
    theirs = stats.false_discovery_control(p_values, method="by" if may_depend else "bh")
    assert false_discovery(p_values, tests_may_depend=may_depend).q == pytest.approx(theirs, abs=1e-12)


@given(P_VALUES, st.randoms(use_true_random=False))
def test_the_order_of_tests_does_not_matter(p_values, rng):
    places = list(range(len(p_values)))
    rng.shuffle(places)
    plain, shuffled = false_discovery(p_values), false_discovery([p_values[place] for place in places])
    assert shuffled.q == pytest.approx([plain.q[place] for place in places], abs=1e-15)


def test_what_was_not_tested_is_no_part_of_the_family():
    assert false_discovery([None, 0.01, None, 0.04, None]).q == (None, 0.02, None, 0.04, None)
    assert false_discovery([None, 0.01, None, 0.04, None]).family == 2


def test_one_test_keeps_its_p_and_none_is_an_empty_family():
    assert false_discovery([0.03]).q == (0.03,)
    assert (false_discovery([]).q, false_discovery([]).family) == ((), 0)
    assert false_discovery([None]).q == (None,)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        false_discovery([0.5, p])
