from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lookaway.statistics.intervals import Proportion, proportion, wilson

FROM_STATSMODELS = {
    (0, 10): (0.0, 0.27753279986288926),
    (3, 10): (0.10779126740630104, 0.6032218525388546),
    (31, 300): (0.07375658473854116, 0.14294017243293203),
    (30, 500): (0.0423483564809462, 0.08436106312521979),
    (37, 50): (0.6044684273515116, 0.841284725064476),
    (10, 10): (0.7224672001371106, 1.0),
}
"""proportion_confint(hits, total, method="wilson"), statsmodels 0.15.0."""
COUNTS = st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@pytest.mark.parametrize(("counts", "ends"), FROM_STATSMODELS.items())
def test_intervals_are_those_of_statsmodels(counts, ends):
    found = proportion(*counts)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-10)
    assert (found.share, found.hits, found.total) == (counts[0] / counts[1], *counts)


def test_statsmodels_still_says_so():
    theirs = pytest.importorskip(
        "statsmodels.stats.proportion", reason="statsmodels, a library to compare with, is not installed"
    )
    hits, totals = np.arange(0, 41), np.full(41, 40)
    expected = theirs.proportion_confint(hits, totals, alpha=0.1, method="wilson")
    assert np.array(wilson(hits, totals, level=0.9)) == pytest.approx(np.array(expected), abs=1e-8)


@given(COUNTS)
def test_intervals_are_those_of_scipy_and_stay_between_none_and_all(counts):
    found = proportion(*counts)
    theirs = stats.binomtest(*counts).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-8)
    assert 0 <= found.low <= found.share <= found.high <= 1


def test_another_level_is_that_of_scipy_too():
    found, theirs = proportion(7, 30, level=0.8), stats.binomtest(7, 30).proportion_ci(0.8, method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-8)


@given(COUNTS)
def test_counting_the_others_turns_the_interval_over(counts):
    hits, total = counts
    one, other = proportion(hits, total), proportion(total - hits, total)
    assert (1 - other.high, 1 - other.low) == pytest.approx((one.low, one.high), abs=1e-12)


def test_the_ends_are_where_the_test_of_a_share_just_fails():
    found = proportion(7, 30)
    for end in (found.low, found.high):
        assert abs(7 / 30 - end) / math.sqrt(end * (1 - end) / 30) == pytest.approx(stats.norm.ppf(0.975), abs=1e-9)


def test_none_and_all_reach_the_ends_exactly():
    assert proportion(0, 7).low == 0.0
    assert proportion(7, 7).high == 1.0


def test_a_share_of_nothing_is_no_share():
    assert proportion(0, 0) is None
    assert isinstance(proportion(0, 1), Proportion)


@pytest.mark.parametrize(("hits", "total"), [(3, 2), (-1, 2), (1, -2)])
def test_more_hits_than_there_are_is_refused(hits, total):
    with pytest.raises(ValueError, match="no more than there are"):
        proportion(hits, total)


def test_many_shares_of_which_one_is_of_nothing_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        wilson(np.array([1, 0]), np.array([2, 0]))
