from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookaway.core import Estimate, Gated
from lookaway.statistics.gated_means import GatedValues, gated_means
from lookaway.statistics.intervals import clustered_share, scene_mean

SCENES = [f"scene {number}" for number in range(8)]
NAMES = [f"{number:02}" for number in range(60)]
FORTY = NAMES[:40]
OPEN = np.array([1.0, 1, 1, 1, 1, 0, 0, 0])
VALUES = np.array([0.9, 0.7, 0.8, 0.6])
"""Of the first four; the fifth was put to the test and has no score."""


def gated_mean(values, scenes, is_open, gate_scenes) -> tuple[Estimate | None, Gated | None]:
    data = GatedValues(values=values, scenes=scenes, is_open=is_open, gate_scenes=gate_scenes, range=(0.0, 1.0))
    return gated_means([data])[0]


def test_score_coverage_and_both_are_those_of_a_hand_computation():
    score, gated = gated_mean(VALUES, SCENES[:4], OPEN, SCENES)
    assert score.mean == pytest.approx(0.75, abs=1e-12)
    assert gated.coverage.mean == 5 / 8
    assert gated.combined.mean == pytest.approx(2 * 0.75 * 0.625 / (0.75 + 0.625), abs=1e-12)
    assert (score.scored, gated.coverage.scored, gated.combined.scored) == (4, 8, 4)


def test_intervals_of_score_and_coverage_are_those_of_a_mean_and_of_a_share():
    score, gated = gated_mean(VALUES, SCENES[:4], OPEN, SCENES)
    assert score == scene_mean(VALUES, SCENES[:4], (0.0, 1.0))
    assert gated.coverage == clustered_share(OPEN == 1, SCENES)


@pytest.mark.parametrize(("opened", "low", "high"), [(40, 0.912, 1.0), (39, 0.871, 0.996), (0, 0.0, 0.088)])
def test_a_coverage_near_its_ends_is_neither_sure_nor_beyond_them(opened, low, high):
    _, gated = gated_mean(np.full(opened, 0.5), FORTY[:opened], (np.arange(40) < opened).astype(float), FORTY)
    assert (gated.coverage.low, gated.coverage.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


def test_where_all_passed_the_combined_number_may_still_fall_with_the_coverage():
    values = np.linspace(0.4, 0.8, 40)
    score, gated = gated_mean(values, FORTY, np.ones(40), FORTY)
    by_score = gated.combined.mean - 2 * score.low / (1 + score.low)
    by_coverage = gated.combined.mean - 2 * 0.6 * gated.coverage.low / (0.6 + gated.coverage.low)
    assert by_coverage > 0.02
    assert gated.combined.mean == pytest.approx(2 * 0.6 / 1.6)
    assert gated.combined.mean - gated.combined.low == pytest.approx(np.sqrt(by_score**2 + by_coverage**2))
    assert gated.combined.high == pytest.approx(2 * score.high / (1 + score.high))
    assert (gated.combined.scored, gated.combined.scenes) == (40, 40)


def test_where_all_passed_with_the_same_score_the_combined_number_is_still_not_sure():
    score, gated = gated_mean(np.ones(40), FORTY, np.ones(40), FORTY)
    assert (score.mean, gated.combined.mean, gated.combined.high) == (1.0, 1.0, 1.0)
    by_score, by_coverage = (1 - 2 * low / (1 + low) for low in (score.low, gated.coverage.low))
    assert gated.combined.low == pytest.approx(1 - np.hypot(by_score, by_coverage))


def test_many_at_once_are_what_each_is_alone():
    random = np.random.default_rng(3)
    several = []
    for scenes in (40, 60, 8):
        is_open = (random.random(scenes) < 0.8).astype(float)
        own = [name for name, passed in zip(NAMES, is_open.tolist(), strict=False) if passed]
        several.append(
            GatedValues(values=random.random(len(own)), scenes=own, is_open=is_open, gate_scenes=NAMES[:scenes])
        )
    together = gated_means(several)
    for data, (score, gated) in zip(several, together, strict=True):
        ((alone, own),) = gated_means([data])
        assert (score.low, score.high) == pytest.approx((alone.low, alone.high), abs=1e-12)
        assert gated == own


def test_nothing_that_passes_is_worth_nothing():
    score, gated = gated_mean(np.array([]), [], np.zeros(3), SCENES[:3])
    assert score is None
    assert (gated.coverage.mean, gated.combined.mean) == (0.0, 0.0)
    assert (gated.combined.low, gated.combined.high) == (None, None)


def test_what_passed_without_a_score_leaves_the_combined_number_open():
    score, gated = gated_mean(np.array([]), [], np.ones(3), SCENES[:3])
    assert score is None
    assert gated.coverage.mean == 1.0
    assert gated.combined is None


def test_without_a_gate_there_is_only_a_mean():
    score, gated = gated_mean(VALUES, SCENES[:4], np.array([]), [])
    assert score == scene_mean(VALUES, SCENES[:4], (0.0, 1.0))
    assert gated is None


def test_scores_of_nothing_but_zero_are_worth_nothing_whatever_the_coverage():
    _, gated = gated_mean(np.zeros(4), SCENES[:4], OPEN, SCENES)
    assert gated.combined.mean == 0.0


def test_a_closed_gate_with_scores_of_zero_does_not_divide_by_zero():
    score, gated = gated_mean(np.zeros(2), SCENES[:2], np.zeros(2), SCENES[:2])
    assert (score.mean, gated.combined.mean) == (0.0, 0.0)


def test_scenes_that_pass_more_often_and_score_higher_make_the_interval_wider():
    is_open = np.tile([1.0, 1, 1, 0], 20)
    easy = np.repeat(np.arange(20) % 2, 4)
    is_open[(easy == 0) & (np.arange(80) % 4 == 1)] = 0
    scenes = np.repeat(NAMES[:20], 4)
    passed = is_open == 1
    alike, opposite = (
        gated_mean(np.where(easy[passed] == level, 0.9, 0.3), scenes[passed].tolist(), is_open, scenes.tolist())[1]
        for level in (1, 0)
    )
    reach = [one.combined.mean - one.combined.low for one in (alike, opposite)]
    assert reach[0] > 1.1 * reach[1]


def test_a_combined_number_never_leaves_its_range():
    five = NAMES[:5]
    _, gated = gated_mean(np.array([1.0, 0, 0, 0, 1]), five, np.array([1.0, 1, 1, 1, 1, 0]), [*five, "z"])
    assert 0.0 <= gated.combined.low < gated.combined.mean < gated.combined.high <= 1.0


def test_fewer_than_five_scenes_that_passed_have_no_combined_interval():
    score, gated = gated_mean(VALUES, SCENES[:4], OPEN, SCENES)
    assert score.scene_means == (0.6, 0.7, 0.8, 0.9)
    assert (gated.combined.low, gated.combined.high) == (None, None)


def test_one_scene_has_no_interval():
    _, gated = gated_mean(np.array([0.5, 0.7]), ["a", "a"], np.array([1.0, 1, 0]), ["a", "a", "a"])
    assert (gated.combined.low, gated.combined.high) == (None, None)
    _, gated = gated_mean(np.array([0.5, 0.7]), ["a", "a"], np.ones(2), ["a", "a"])
    assert (gated.combined.mean, gated.combined.low) == (pytest.approx(0.75), None)


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


def test_the_interval_is_as_wide_as_that_of_a_jackknife_over_scenes_where_scenes_are_many():
    random = np.random.default_rng(0)
    scenes = [f"s{number}" for number in range(200)]
    is_open = (random.random(200) < 0.7).astype(float)
    values = np.clip(random.normal(0.6, 0.2, 200), 0, 1)
    passed = is_open == 1
    own = [scene for scene, counts in zip(scenes, passed, strict=True) if counts]
    data = GatedValues(values=values[passed], scenes=own, is_open=is_open, gate_scenes=scenes)
    ((_, gated),) = gated_means([data])

    def combined(keep):
        score, share = values[keep & passed].mean(), is_open[keep].mean()
        return 2 * score * share / (score + share)

    left_out = np.array([combined(np.arange(200) != scene) for scene in range(200)])
    error = np.sqrt(199 / 200 * np.sum((left_out - left_out.mean()) ** 2))
    from scipy.stats import t

    assert gated.combined.high - gated.combined.low == pytest.approx(2 * t.ppf(0.975, 199) * error, rel=0.02)
