from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.statistics.gated_mean import gated_mean
from lookaway.statistics.scene_mean import scene_mean

SCENES = [f"scene {number}" for number in range(8)]
OPEN = np.array([1.0, 1, 1, 1, 1, 0, 0, 0])
VALUES = np.array([0.9, 0.7, 0.8, 0.6])
"""Of the first four; the fifth was put to the test and has no score."""


def test_score_coverage_and_both_are_those_of_a_hand_computation():
    score, gated = gated_mean(VALUES, SCENES[:4], OPEN, SCENES)
    assert score.mean == pytest.approx(0.75, abs=1e-12)
    assert gated.coverage.mean == 5 / 8
    assert gated.combined.mean == pytest.approx(2 * 0.75 * 0.625 / (0.75 + 0.625), abs=1e-12)
    assert (score.scored, gated.coverage.scored, gated.combined.scored) == (4, 8, 4)


def test_intervals_of_score_and_coverage_are_those_of_their_means():
    score, gated = gated_mean(VALUES, SCENES[:4], OPEN, SCENES)
    assert score == scene_mean(VALUES, SCENES[:4])
    assert gated.coverage == scene_mean(OPEN, SCENES)


def test_nothing_that_passes_is_worth_nothing():
    score, gated = gated_mean(np.array([]), [], np.zeros(3), SCENES[:3])
    assert score is None
    assert (gated.coverage.mean, gated.combined.mean) == (0.0, 0.0)


def test_what_passed_without_a_score_leaves_the_combined_number_open():
    score, gated = gated_mean(np.array([]), [], np.ones(3), SCENES[:3])
    assert score is None
    assert gated.coverage.mean == 1.0
    assert gated.combined is None


def test_without_a_gate_there_is_only_a_mean():
    score, gated = gated_mean(VALUES, SCENES[:4], np.array([]), [])
    assert score == scene_mean(VALUES, SCENES[:4])
    assert gated is None


def test_scores_of_nothing_but_zero_are_worth_nothing_whatever_the_coverage():
    _, gated = gated_mean(np.zeros(4), SCENES[:4], OPEN, SCENES)
    assert gated.combined.mean == 0.0


def test_a_closed_gate_with_scores_of_zero_does_not_divide_by_zero():
    score, gated = gated_mean(np.zeros(2), SCENES[:2], np.zeros(2), SCENES[:2])
    assert (score.mean, gated.combined.mean) == (0.0, 0.0)


def test_one_scene_has_no_interval():
    _, gated = gated_mean(np.array([0.5, 0.7]), ["a", "a"], np.array([1.0, 1, 0]), ["a", "a", "a"])
    assert (gated.combined.low, gated.combined.high) == (None, None)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=12), st.integers(0, 8), st.randoms(use_true_random=False))
def test_the_combined_number_lies_between_score_and_coverage_and_knows_no_order(values, closed, random):
    scenes = [f"s{number % 5}" for number in range(len(values))]
    is_open = [1.0] * len(values) + [0.0] * closed
    gate_scenes = scenes + [f"s{number % 4}" for number in range(closed)]
    score, gated = gated_mean(np.array(values), scenes, np.array(is_open), gate_scenes)
    low, high = sorted((score.mean, gated.coverage.mean))
    assert low - 1e-12 <= gated.combined.mean <= high + 1e-12
    order, gate_order = list(range(len(values))), list(range(len(is_open)))
    random.shuffle(order)
    random.shuffle(gate_order)
    _, again = gated_mean(
        np.array([values[at] for at in order]),
        [scenes[at] for at in order],
        np.array([is_open[at] for at in gate_order]),
        [gate_scenes[at] for at in gate_order],
    )
    assert again.combined.mean == pytest.approx(gated.combined.mean, abs=1e-12)
    if gated.combined.low is not None:
        assert again.combined.low == pytest.approx(gated.combined.low, abs=1e-9)


def test_the_interval_is_that_of_a_jackknife_over_scenes_where_scenes_are_many():
    random = np.random.default_rng(0)
    scenes = [f"s{number}" for number in range(200)]
    is_open = (random.random(200) < 0.7).astype(float)
    values = np.clip(random.normal(0.6, 0.2, 200), 0, 1)
    passed = is_open == 1
    own = [scene for scene, counts in zip(scenes, passed, strict=True) if counts]
    _, gated = gated_mean(values[passed], own, is_open, scenes)

    def combined(keep):
        score, share = values[keep & passed].mean(), is_open[keep].mean()
        return 2 * score * share / (score + share)

    left_out = np.array([combined(np.arange(200) != scene) for scene in range(200)])
    error = np.sqrt(199 / 200 * np.sum((left_out - left_out.mean()) ** 2))
    from scipy.stats import t

    assert gated.combined.high - gated.combined.mean == pytest.approx(t.ppf(0.975, 199) * error, rel=0.02)
