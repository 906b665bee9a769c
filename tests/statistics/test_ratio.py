from __future__ import annotations

import numpy as np
import pytest

from lookaway.statistics.intervals import ratio, scene_mean
from lookaway.statistics.scene_bootstrap import scene_bootstrap, scene_weights
from tests.statistics.test_gated_means import gated_mean

TOPS = np.array([0.31, 0.42, 0.77, 0.12, 0.93, 0.55, 0.48, 0.66, 0.29, 0.84])
BOTTOMS = np.array([1.0, 2, 1, 3, 1, 2, 2, 1, 4, 1])
SCENES = list("aaabbcdddd")


def sample(scenes: int = 60, *, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    places = np.repeat(np.arange(scenes), 3)
    bottoms = rng.uniform(0.5, 2.0, len(places)) * rng.uniform(0.5, 2.0, scenes)[places]
    tops = bottoms * (0.4 + rng.normal(0, 0.1, scenes)[places]) + rng.normal(0, 0.05, len(places))
    return tops, bottoms, [f"scene {place:03}" for place in places]


def test_the_delta_interval_is_that_of_weighted_min_squares_of_statsmodels():
    # WLS of tops / bottoms on a constant, weights bottoms, cov_type="cluster", statsmodels 0.15.0, for four scenes. The
    # same scenes again leave the sum of squared influences at a half, and have 7 degrees of freedom in place of 3.
    reach = (0.37204898943933884 - 0.22461767722732773) / 2
    twice = [*SCENES, *(f"other {scene}" for scene in SCENES)]
    estimate = ratio(np.tile(TOPS, 2), np.tile(BOTTOMS, 2), twice).estimate
    assert estimate.mean == pytest.approx(0.2983333333333333, abs=1e-12)
    expected = reach * np.sqrt(3 / 7) * 2.364624251592784 / 3.182446305284263
    assert estimate.high - estimate.mean == pytest.approx(expected, abs=1e-10)
    assert (estimate.scored, estimate.scenes) == (20, 8)
    assert ratio(TOPS, BOTTOMS, SCENES).estimate.low is None


def test_statsmodels_still_says_so():
    models = pytest.importorskip("statsmodels.api", reason="statsmodels, a library to compare with, is not installed")
    tops, bottoms, scenes = sample(15)
    _, groups = np.unique(scenes, return_inverse=True)
    fit = models.WLS(tops / bottoms, np.ones(len(tops)), weights=bottoms)
    fit = fit.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    estimate = ratio(tops, bottoms, scenes).estimate
    assert [estimate.low, estimate.high] == pytest.approx(fit.conf_int()[0].tolist(), abs=1e-8)


def test_with_denominators_of_one_it_is_a_mean():
    scenes = list("aaabbcddde")
    estimate = ratio(TOPS, np.ones(10), scenes).estimate
    expected = scene_mean(TOPS, scenes)
    assert (estimate.mean, estimate.low) == pytest.approx((expected.mean, expected.low), abs=1e-12)


def test_both_intervals_agree_where_scenes_are_many():
    found = ratio(*sample(400))
    width = found.estimate.high - found.estimate.low
    assert found.drawn.low == pytest.approx(found.estimate.low, abs=0.06 * width)
    assert found.drawn.high == pytest.approx(found.estimate.high, abs=0.06 * width)


def test_draws_and_seed_are_told_and_decide_the_draws():
    one, same, other = ratio(*sample(), seed=3), ratio(*sample(), seed=3), ratio(*sample(), seed=4)
    assert (one.draws, one.seed) == (2_000, 3)
    assert one == same
    assert one.drawn != other.drawn


def test_order_and_names_of_scenes_do_not_matter_and_units_do():
    tops, bottoms, scenes = sample(20)
    order = np.random.default_rng(1).permutation(len(tops))
    plain = ratio(tops, bottoms, scenes)
    again = ratio(tops[order], bottoms[order], [f"the {scenes[at]}" for at in order])
    for one, two in [(plain.estimate, again.estimate), (plain.drawn, again.drawn)]:
        assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-10)
    scaled = ratio(6 * tops, 2 * bottoms, scenes)
    assert (scaled.drawn.low, scaled.estimate.low) == pytest.approx((3 * plain.drawn.low, 3 * plain.estimate.low))


def test_one_scene_has_a_ratio_and_no_interval():
    found = ratio(np.array([1.0, 2.0]), np.array([2.0, 4.0]), ["a", "a"])
    assert (found.estimate.mean, found.estimate.low, found.drawn) == (0.5, None, None)


def test_what_is_the_same_everywhere_has_no_interval():
    found = ratio(BOTTOMS / 4, BOTTOMS, list("aaabbcddde"))
    assert (found.estimate.mean, found.estimate.low, found.drawn) == (pytest.approx(0.25), None, None)


@pytest.mark.parametrize("bottoms", [[], [0.0, 0.0]])
def test_nothing_to_divide_by_is_no_ratio(bottoms):
    assert ratio(np.ones(len(bottoms)), np.array(bottoms), ["a"] * len(bottoms)) is None


def combined(parts):
    score, coverage = parts[0] / parts[1], parts[2] / parts[3]
    return 2 * score * coverage / (score + coverage)


def gated_sample(rng, scenes: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Values, verdicts of a gate, and scenes; about two thirds pass, and easy scenes pass more often."""
    ease = rng.normal(0, 1, scenes)
    places = np.repeat(np.arange(scenes), 4)
    is_open = (rng.random(len(places)) < 1 / (1 + np.exp(-0.8 - 0.5 * ease[places]))).astype(float)
    values = np.clip(0.6 + 0.1 * ease[places] + rng.normal(0, 0.1, len(places)), 0, 1)
    return values, is_open, [f"scene {place:03}" for place in places]


def test_the_interval_of_a_gated_mean_is_that_of_draws_of_scenes():
    values, is_open, scenes = gated_sample(np.random.default_rng(2), 150)
    passed = is_open == 1
    own = [scene for scene, counts in zip(scenes, passed, strict=True) if counts]
    _, gated = gated_mean(values[passed], own, is_open, scenes)
    _, place = np.unique(scenes, return_inverse=True)
    parts = (values * is_open, is_open, is_open, np.ones(len(is_open)))
    totals = np.array([[np.bincount(place, weights=part)] for part in parts])
    (drawn,) = scene_bootstrap(totals, combined, [scene_weights(150, draws=4_000).T])
    width = gated.combined.high - gated.combined.low
    assert combined(totals.sum(-1))[0] == pytest.approx(gated.combined.mean, abs=1e-12)
    assert drawn.low == pytest.approx(gated.combined.low, abs=0.06 * width)
    assert drawn.high == pytest.approx(gated.combined.high, abs=0.06 * width)
