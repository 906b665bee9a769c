from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Case, Feature, Reason, Rollout, Score
from lookaway.metrics.object_geometry import ObjectGeometry

ROLLOUT = Rollout(case=Case(id="c", subset="object", scene="s"), model="m", video=Path("v.mp4"))


def measured(ssim, *, left_out=()):
    count = len(ssim)
    arrays = {
        "ssim": np.array(ssim, np.float64),
        "pixels": np.arange(100, 100 + count),
        "frames": np.array([[number, 20 - number] for number in range(count)], np.int64).reshape(-1, 2),
    }
    similarity = Feature(arrays, {"rule": "fold", "too_few_pixels": [list(pair) for pair in left_out]})
    return ObjectGeometry().measure(ROLLOUT, {"warped_similarity": similarity})


def test_a_target_that_looks_the_same_from_the_same_place_has_the_best_score():
    outcome = measured([1.0, 1.0])
    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.raw) == (1.0, 1.0)
    assert outcome.detail == {"pairs": "fold", "pairs_scored": 2, "pairs_asked": 2}


def test_pairs_weigh_the_same_however_many_pixels_they_count():
    outcome = measured([0.2, 0.5, 0.8])
    assert outcome.value == outcome.raw == pytest.approx(0.5)
    assert [unit.name for unit in outcome.units] == ["f0_f20", "f1_f19", "f2_f18"]
    assert [unit.outcome.value for unit in outcome.units] == [0.2, 0.5, 0.8]
    assert outcome.units[1].outcome.detail == {"pixels": 101}


def test_a_mean_below_zero_is_cut_and_kept_as_it_was():
    outcome = measured([-0.5, 0.1])
    assert (outcome.value, outcome.raw) == (0.0, pytest.approx(-0.2))
    assert outcome.units[0].outcome.value == 0.0
    assert outcome.units[0].outcome.raw == -0.5


def test_pairs_are_averaged_before_anything_is_cut():
    assert measured([-0.5, 0.9]).value == pytest.approx(0.2)


def test_a_pair_that_shows_too_little_is_listed_and_moves_nothing():
    outcome = measured([0.4], left_out=[(3, 17, 12)])
    assert outcome.value == pytest.approx(0.4)
    assert outcome.detail["pairs_asked"] == 2
    assert outcome.units[1].name == "f3_f17"
    assert isinstance(outcome.units[1].outcome, Abstention)
    assert "12 pixels" in outcome.units[1].outcome.message


def test_a_target_that_no_pair_shows_is_no_target():
    outcome = measured([], left_out=[(0, 20, 0), (1, 19, 63)])
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NO_TARGET
    assert "none of 2 frame pairs" in outcome.message
    assert len(outcome.units) == 2


def test_every_rollout_may_be_measured():
    assert ObjectGeometry().declines(ROLLOUT) is None
