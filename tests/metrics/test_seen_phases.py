"""Scores that MemoBench combines from a mean and a minimum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, Reason
from lookaway.metrics.seen_phases import DepthConsistency, ObjectIdentity
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
RANDOM = np.random.default_rng(3)
TOKENS = RANDOM.normal(size=(20, 8))


def identity(*frames, indices=None, metric=None):
    indices = np.array([0, *range(50, 50 + len(frames) - 1)]) if indices is None else np.array(indices)
    feature = Feature({"patches": np.array(frames, np.float16), "frame_indices": indices})
    return (metric or ObjectIdentity()).measure(ROLLOUT, {"tokens": feature})


def test_the_same_patches_score_1_whatever_their_length():
    assert identity(TOKENS, 3 * TOKENS, 0.5 * TOKENS).value == pytest.approx(1, abs=1e-5)


def test_opposite_patches_score_0():
    assert identity(TOKENS, -TOKENS).value == 0


def test_the_mean_and_the_least_of_the_most_similar_patches_are_combined():
    changed = TOKENS.copy()
    changed[8:] *= -1  # the eight that stay are two fifths
    outcome = identity(TOKENS, changed)
    assert (outcome.value, outcome.detail["patches"]) == (pytest.approx(1, abs=1e-5), 8)
    changed[7] *= -1
    outcome = identity(TOKENS, changed)
    assert outcome.detail == {"mean": pytest.approx(7 / 8, abs=1e-5), "min": 0.0, "patches": 8}
    assert outcome.value == pytest.approx(0.7 * 7 / 8, abs=1e-5)


def test_one_frame_decides_the_minimum():
    outcome = identity(TOKENS, TOKENS, -TOKENS)
    assert [unit.outcome.value for unit in outcome.units] == [pytest.approx(1, abs=1e-5), 0]
    assert outcome.value == pytest.approx(0.35, abs=1e-5)


@pytest.mark.parametrize(("frames", "indices"), [((TOKENS,), (0,)), ((TOKENS, TOKENS), (50, 51))])
def test_without_the_first_frame_or_another_it_is_too_short(frames, indices):
    assert identity(*frames, indices=indices).reason is Reason.TOO_SHORT


def test_a_share_of_no_patches_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        ObjectIdentity(top_share=0)


# Depth

MAPS = RANDOM.uniform(size=(6, 5, 7))
PHASES = Feature({"bounds": np.array([[0, 9], [9, 12], [12, 21]])}, {"phases": ["visible", "gone", "reappeared"]})


def depth(maps, indices=(0, 4, 8, 12, 16, 20), metric=None, phases=PHASES):
    feature = Feature({"inverse_depth": np.array(maps), "frame_indices": np.array(indices)})
    metric = metric or DepthConsistency()
    return metric.measure(ROLLOUT, {"inverse_depth": feature, "phases": phases})


def test_equal_shapes_score_1_whatever_their_scale_and_shift():
    shown = [MAPS[0] * scale + shift for scale, shift in ((1, 0), (3, 1), (0.5, 9), (1, 1), (2, 2), (7, 0))]
    assert depth(shown).value == pytest.approx(1, abs=1e-6)


def test_shapes_that_exclude_each_other_score_0():
    one, other = np.zeros((2, 4)), np.ones((2, 4))
    one[0], other[0] = 1, 0
    assert depth([one, other, one, one, other, one]).value == 0


def test_a_change_between_phases_does_not_matter():
    shown = [MAPS[0]] * 3 + [MAPS[1]] * 3
    outcome = depth(shown)
    assert outcome.value == pytest.approx(1, abs=1e-6)
    assert [unit.name for unit in outcome.units] == ["f0_f4", "f4_f8", "f12_f16", "f16_f20"]


def test_phases_weigh_alike_and_the_least_cosine_counts():
    one, other = np.zeros((2, 4)), np.ones((2, 4))
    one[0], other[0] = 1, 0
    outcome = depth([one, one, one, one, one, other])
    assert outcome.detail == {"mean": pytest.approx(0.75), "min": 0.0}
    assert outcome.value == pytest.approx(0.7 * 0.75)


def test_a_phase_that_is_too_short_counts_as_0_only_as_published():
    shown = [MAPS[0]] * 4
    assert depth(shown, (0, 4, 8, 12)).value == pytest.approx(1, abs=1e-6)
    published = depth(shown, (0, 4, 8, 12), DepthConsistency(counts_short_phases=True))
    assert published.value == pytest.approx(0.7 * 0.5)


def test_a_phase_without_any_frame_of_depth_does_not_count():
    never_back = Feature(
        {"bounds": np.array([[0, 9], [9, 21], [21, 21]])}, {"phases": ["visible", "gone", "reappeared"]}
    )
    outcome = depth([MAPS[0]] * 3, (0, 4, 8), phases=never_back)
    assert outcome.value == pytest.approx(1, abs=1e-6)
    assert [unit.name for unit in outcome.units] == ["f0_f4", "f4_f8"]
    assert depth(np.zeros((0, 5, 7)), (), phases=never_back).reason is Reason.TOO_SHORT


def test_without_pairs_or_phases_it_abstains():
    assert depth([MAPS[0]] * 2, (0, 12)).reason is Reason.TOO_SHORT
    assert depth([MAPS[0]] * 6, metric=DepthConsistency(phases=("never",))).reason is Reason.MISSING_INPUT


def test_frames_of_a_short_phase_count_again_as_in_the_code():
    near, far = TOKENS + 0.1 * RANDOM.normal(size=TOKENS.shape), TOKENS + RANDOM.normal(size=TOKENS.shape)
    first, last = (identity(TOKENS, each).detail["mean"] for each in (near, far))
    found = identity(TOKENS, near, far, metric=ObjectIdentity(repeats_to=9))
    assert found.detail["mean"] == pytest.approx((8 * first + last) / 9, abs=1e-6)
    assert len(found.units) == 2
