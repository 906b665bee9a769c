from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, Score
from lookaway.metrics.quality_drop import QualityDrop, window_bounds, window_name
from tests.support.revisit_golden import official, rollout_of

PUBLISHED = QualityDrop(window_rows=160, min_rows=16, min_windows=1, text_order=True)


def measured(metric: QualityDrop, quality: np.ndarray):
    feature = Feature({"quality": quality, "frame_indices": np.arange(len(quality))})
    return metric.measure(rollout_of(), {"quality": feature})


@pytest.mark.parametrize("number", range(4))
def test_windows_and_their_order_are_those_of_the_official_code(number):
    case = official()["sana"]["temporal"][number]
    found = [
        [window_name(window, 10), f"s_{video:03}_generated.mp4", start, stop - 1, stop - start, 16]
        for video, frames in enumerate(case["lengths"])
        for window, (start, stop) in enumerate(window_bounds(frames, 160, 16))
    ]
    assert found == case["windows_written"]
    longest = max(case["lengths"])
    outcome = measured(PUBLISHED, np.arange(longest, dtype=float))
    if not case["order"]:
        assert isinstance(outcome, Abstention)
        return
    assert [unit.name for unit in outcome.units] == case["order"]


@pytest.mark.parametrize("number", range(3))
def test_the_drop_is_that_of_the_official_code(number):
    case = official()["sana"]["temporal"][number]
    trend = case["trend_imaging_quality"]
    by_name = dict(zip(case["order"], trend["per_window"], strict=True))
    in_time = [by_name[window_name(window, 10)] for window in range(len(by_name))]
    outcome = measured(PUBLISHED, 100 * np.repeat(in_time, 160))
    assert outcome.value == pytest.approx(trend["degradation"], abs=1e-9)
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx(trend["per_window"])


def test_windows_in_order_of_time_end_with_the_last_one():
    falling = np.linspace(80, 20, 12 * 20)
    in_time, as_text = measured(QualityDrop(), falling), measured(QualityDrop(text_order=True), falling)
    assert in_time.units[-1].name == "w11_110s-120s"
    assert in_time.value > as_text.value > 0


def test_a_clip_that_stays_as_it_is_drops_by_nothing_however_poor_it_is():
    good, poor = (measured(QualityDrop(), np.full(60, quality)) for quality in (75.0, 20.0))
    assert good.value == poor.value == 0
    assert (good.detail["min"], poor.detail["min"]) == (75, 20)


def test_a_drop_has_its_sign_and_its_size():
    rows = np.repeat([70.0, 60.0, 40.0], 20)
    fell, rose = measured(QualityDrop(), rows), measured(QualityDrop(), rows[::-1])
    assert isinstance(fell, Score)
    assert (fell.value, fell.raw) == (pytest.approx(0.3), pytest.approx(30))
    assert rose.value == pytest.approx(-0.3)
    assert fell.detail == {"first": 70, "mean": pytest.approx(170 / 3), "min": 40, "last": 40}


def test_a_clip_of_one_window_is_too_short():
    outcome = measured(QualityDrop(), np.full(39, 70.0))
    assert isinstance(outcome, Abstention)
    assert outcome.reason == Reason.TOO_SHORT
    assert measured(PUBLISHED, np.full(39, 70.0)).value == 0
