from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lookaway.statistics.paired_difference import detectable_effect, required_pairs, required_size


@pytest.mark.parametrize(("size", "effect"), [(10, 0.18), (30, 0.10), (100, 0.056), (400, 0.028)])
def test_effects_are_those_that_are_known_for_a_deviation_of_a_fifth(size, effect):
    digits = 2 if effect > 0.06 else 3
    assert round(detectable_effect(0.20, size), digits) == effect


@pytest.mark.parametrize(("probability", "pairs"), [(0.60, 194), (0.55, 783), (0.40, 194), (1.0, 4)])
def test_pairs_are_those_that_are_known_and_losing_needs_as_many_as_winning(probability, pairs):
    assert required_pairs(probability) == pairs


def test_votes_that_are_alike_need_to_be_more():
    assert required_pairs(0.60, design_effect=2) == 388


def test_the_effect_is_that_of_statsmodels():
    # NormalIndPower().power(0.28, 100, 0.025, ratio=0, alternative="larger"), statsmodels 0.15.0
    assert detectable_effect(0.2, 100, power=0.7995559032981122) == pytest.approx(0.2 * 0.28, abs=1e-10)


def test_statsmodels_still_says_so():
    power = pytest.importorskip(
        "statsmodels.stats.power", reason="statsmodels, a library to compare with, is not installed"
    )
    effect = detectable_effect(1.0, 37, risk=0.01, power=0.9)
    theirs = power.NormalIndPower().power(effect, 37, 0.005, ratio=0, alternative="larger")
    assert theirs == pytest.approx(0.9, abs=1e-8)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_an_effect_of_this_size_is_found_as_often_as_asked(power):
    effect = detectable_effect(0.3, 50, power=power)
    assert stats.norm.sf(stats.norm.ppf(0.975) - effect / (0.3 / np.sqrt(50))) == pytest.approx(power, abs=1e-10)


@pytest.mark.parametrize("effect", [0.02, 0.1, -0.1, 0.37])
def test_the_needed_size_is_the_first_that_finds_the_effect(effect):
    size = required_size(effect, 0.25)
    assert detectable_effect(0.25, size) <= abs(effect)
    assert size == 1 or detectable_effect(0.25, size - 1) > abs(effect)


def test_the_needed_pairs_find_the_winner_in_a_simulation():
    pairs = required_pairs(0.60)
    wins = np.random.default_rng(0).binomial(pairs, 0.60, 20_000)
    found = np.abs(wins / pairs - 0.5) > stats.norm.ppf(0.975) * 0.5 / np.sqrt(pairs)
    assert found.mean() == pytest.approx(0.80, abs=0.03)


def test_what_never_differs_is_found_at_once():
    assert detectable_effect(0.0, 5) == 0.0
    assert required_size(0.1, 0.0) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: detectable_effect(0.2, 0),
        lambda: detectable_effect(-0.2, 10),
        lambda: required_size(0.0, 0.2),
        lambda: required_size(0.1, -0.2),
        lambda: required_pairs(0.5),
        lambda: required_pairs(1.5),
        lambda: required_pairs(0.6, design_effect=0.5),
        lambda: detectable_effect(0.2, 10, power=1.0),
        lambda: detectable_effect(0.2, 10, risk=0.0),
    ],
)
def test_a_question_without_an_answer_is_refused(ask):
    with pytest.raises(ValueError, match=r"Expected|between 0 and 1"):
        ask()
