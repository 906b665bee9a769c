from __future__ import annotations

import numpy as np
import pytest

from lookaway.statistics.precision import seed_spread


def test_means_are_shown_seed_by_seed_with_their_spread():
    found = seed_spread(np.array([0.1, 0.5, 0.3, 0.9, 0.8]), [7, 7, 1, 1, 4])
    assert found.means == {1: pytest.approx(0.6), 4: pytest.approx(0.8), 7: pytest.approx(0.3)}
    assert found.counts == {1: 2, 4: 1, 7: 2}
    assert found.deviation == pytest.approx(np.std([0.6, 0.8, 0.3], ddof=1))
    assert (found.low, found.high, found.seeds) == (pytest.approx(0.3), pytest.approx(0.8), 3)


def test_more_rollouts_of_each_seed_do_not_hide_that_seeds_differ():
    values, seeds = np.array([0.2, 0.6, 0.7]), [0, 1, 2]
    once, often = seed_spread(values, seeds), seed_spread(np.repeat(values, 50), np.repeat(seeds, 50).tolist())
    assert often.deviation == pytest.approx(once.deviation)
    assert (often.seeds, often.counts) == (3, {0: 50, 1: 50, 2: 50})


def test_one_seed_has_a_mean_and_no_spread():
    found = seed_spread(np.array([0.2, 0.4]), [3, 3])
    assert (found.seeds, found.deviation, found.low, found.high) == (1, None, pytest.approx(0.3), pytest.approx(0.3))


def test_seeds_that_agree_have_no_spread_at_all():
    assert seed_spread(np.array([0.5, 0.5, 0.5]), [1, 2, 3]).deviation == 0.0


def test_no_value_has_no_spread():
    assert seed_spread(np.array([]), []) is None


def test_order_and_numbers_of_seeds_do_not_matter_and_the_spread_scales():
    values, seeds = np.array([0.1, 0.5, 0.3, 0.9]), np.array([0, 1, 0, 2])
    plain = seed_spread(values, seeds.tolist())
    other = seed_spread(values[::-1], (10 - seeds[::-1]).tolist())
    assert (other.deviation, other.low, other.high) == pytest.approx((plain.deviation, plain.low, plain.high))
    assert seed_spread(-2 * values + 1, seeds.tolist()).deviation == pytest.approx(2 * plain.deviation)
