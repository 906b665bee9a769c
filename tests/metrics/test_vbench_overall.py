from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason
from lookaway.metrics.vbench_overall import RANGES, VbenchOverall, quality_score, scaled_dimensions
from tests.support.revisit_golden import official, rollout_of

GOOD = {name: high for name, (_, high) in RANGES.items()}


def measured(values: dict[str, float], **constants):
    feature = Feature({"values": np.array(list(values.values()))}, {"dimensions": list(values)})
    return VbenchOverall(**constants).measure(rollout_of(), {"vbench": feature})


def test_scores_are_those_of_the_official_code():
    for name, values in official()["sana"]["vbench"]["inputs"].items():
        expected = official()["sana"]["vbench"]["official"][name]
        assert quality_score(values) == pytest.approx(expected["quality_score"], abs=5.1e-5)
        for dimension, value in scaled_dimensions(values).items():
            assert value == pytest.approx(expected["normalized_per_dim"][dimension], abs=5.1e-5)


def test_the_best_video_scores_100_and_the_worst_0():
    assert measured(GOOD).value == pytest.approx(100)
    assert measured(dict.fromkeys(RANGES, 0.0)).value == 0


def test_dynamic_degree_weighs_half():
    still = {**GOOD, "dynamic_degree": 0.0}
    blurred = {**GOOD, "imaging_quality": 0.0}
    assert 100 - measured(blurred).value == pytest.approx(2 * (100 - measured(still).value))


def test_dimensions_of_meaning_change_nothing():
    assert measured({**GOOD, "overall_consistency": 0.1}).value == measured(GOOD).value


def test_missing_dimensions_are_declined_unless_they_may_be_missing():
    two = {"imaging_quality": 0.7, "dynamic_degree": 0.5}
    outcome = measured(two)
    assert isinstance(outcome, Abstention)
    assert outcome.reason == Reason.MISSING_INPUT
    assert "subject_consistency" in outcome.message
    assert measured(two, max_missing=5).value == pytest.approx(63.33, abs=0.01)
