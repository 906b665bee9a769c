from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from lookaway.core import Abstention, Case, Feature, Outcome, Reason, Rollout, Score

from lookaway_example.lightness_drift import LightnessDrift

ROLLOUT = Rollout(case=Case(id="hall", subset="all", scene="hall"), model="any", video=Path("unused.mp4"))


def measure(*lightness: float) -> Outcome:
    """The outcome for a clip with these values of L*, frame by frame."""
    lab = np.zeros((len(lightness), 3))
    lab[:, 0] = lightness
    return LightnessDrift(scale=10.0, frames=2).measure(ROLLOUT, {"lab_means": Feature({"lab": lab})})


def test_a_steady_light_scores_one() -> None:
    assert measure(50, 50, 50, 50) == Score(1.0, raw=0.0)


def test_the_score_falls_to_one_over_e_at_the_scale() -> None:
    assert measure(50, 50, 60, 60) == Score(math.exp(-1), raw=10.0)


def test_darker_and_lighter_count_alike() -> None:
    assert measure(50, 50, 70, 70) == measure(70, 70, 50, 50)


def test_a_clip_that_is_too_short_is_not_scored() -> None:
    outcome = measure(50, 60, 70)
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.TOO_SHORT
