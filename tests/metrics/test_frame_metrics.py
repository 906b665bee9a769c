"""Metrics of one number a frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Case, Feature, Reason, Rollout
from lookaway.metrics.frame_metrics import (
    AestheticQuality,
    FeatureError,
    ImageQuality,
    ImageReward,
    ImagingQuality,
    Lpips,
    Mse,
    Psnr,
    ReferenceRevisitSimilarity,
    Ssim,
)

ROLLOUT = Rollout(case=Case(id="c", subset="1st_data/mem_test", scene="s"), model="m", video=Path("v.mp4"))
SERIES = {
    Mse(): ("fidelity", "mse", 0.0, 1.0),
    Psnr(): ("fidelity", "mse", 0.0, 1.0),
    Ssim(): ("fidelity", "ssim", 1.0, -1.0),
    Lpips(): ("lpips", "distances", 0.0, 0.8),
    FeatureError(): ("feature_error", "errors", 0.0, 4 / 768),
    ReferenceRevisitSimilarity(): ("similarity", "cosines", 1.0, 0.0),
    ImagingQuality(): ("quality", "quality", 100.0, 0.0),
    ImageQuality(): ("image_quality", "quality", 1.0, 0.0),
    AestheticQuality(): ("aesthetic", "aesthetic", 10.0, 0.0),
}
"""The feature and the array that each reads, with their best and their worst number."""
BEST = {
    "psnr": 100.0,
    "ssim": 1.0,
    "reference_revisit_similarity": 1.0,
    "imaging_quality": 1.0,
    "image_quality": 1.0,
    "aesthetic_quality": 1.0,
}
WORST = {
    "mse": 1.0,
    "ssim": -1.0,
    "lpips": 0.8,
    "feature_error": 4 / 768,
}
every_metric = pytest.mark.parametrize("metric", SERIES, ids=lambda metric: metric.name)


def features(metric, numbers, frames=None, **others):
    feature, array, _, _ = SERIES[metric]
    indices = np.arange(len(numbers)) if frames is None else np.array(frames)
    return {feature: Feature({array: np.array(numbers), "frame_indices": indices.astype(np.int64), **others})}


@every_metric
def test_the_best_frames_give_the_best_value(metric):
    _, _, best, _ = SERIES[metric]
    outcome = metric.measure(ROLLOUT, features(metric, [best] * 3))
    assert outcome.value == BEST.get(metric.name, 0.0)
    low, high = metric.range
    assert high is None or low is None or outcome.value in (low, high)


@every_metric
def test_the_worst_frames_give_the_worst_value_and_every_frame_in_between_counts(metric):
    _, _, best, worst = SERIES[metric]
    good, mixed, bad = (
        metric.measure(ROLLOUT, features(metric, numbers)).value
        for numbers in ([best, best], [best, worst], [worst, worst])
    )
    assert bad == pytest.approx(WORST.get(metric.name, 0.0))
    assert mixed == pytest.approx((good + bad) / 2)
    assert (good > bad) == metric.higher_is_better


@every_metric
def test_every_frame_is_a_unit_under_its_index_in_the_answer(metric):
    _, _, best, worst = SERIES[metric]
    outcome = metric.measure(ROLLOUT, features(metric, [best, worst], frames=[4, 17]))
    assert [unit.name for unit in outcome.units] == ["f4", "f17"]
    alone = [metric.measure(ROLLOUT, features(metric, [number])) for number in (best, worst)]
    assert [unit.outcome.value for unit in outcome.units] == [each.value for each in alone]
    assert [unit.outcome.raw for unit in outcome.units] == [each.raw for each in alone]
    assert outcome.detail["frames"] == 2


@every_metric
def test_where_frames_lie_and_what_else_was_perceived_does_not_matter(metric):
    _, _, best, worst = SERIES[metric]
    there = metric.measure(ROLLOUT, features(metric, [best, worst], frames=[0, 1]))
    later = metric.measure(ROLLOUT, features(metric, [worst, best], frames=[7, 90], partner_indices=np.array([1, 0])))
    assert there.value == pytest.approx(later.value)


@every_metric
def test_what_is_known_of_the_video_goes_into_the_detail(metric):
    ((name, feature),) = features(metric, [0.5]).items()
    outcome = metric.measure(ROLLOUT, {name: Feature(feature.arrays, {"video_frames": 7})})
    assert (outcome.detail["video_frames"], outcome.detail["frames"]) == (7, 1)


@every_metric
def test_without_a_frame_it_abstains(metric):
    outcome = metric.measure(ROLLOUT, features(metric, []))
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.TOO_SHORT


@every_metric
def test_features_are_all_it_asks_for(metric):
    feature, *_ = SERIES[metric]
    assert (metric.needs, metric.uses, metric.declines(ROLLOUT)) == ((feature,), (), None)


@every_metric
def test_a_number_that_is_none_is_never_a_score(metric):
    with pytest.raises(ValueError, match="must be a finite number"):
        metric.measure(ROLLOUT, features(metric, [np.nan, 0.5]))


def test_decibels_are_those_of_each_frame_and_not_of_the_mean_error():
    outcome = Psnr().measure(ROLLOUT, features(Psnr(), [0.1, 0.001]))
    assert outcome.value == pytest.approx(20)
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([10, 30])
    assert outcome.detail["frames_cut"] == 0


def test_equal_frames_are_cut_at_the_ceiling_and_counted():
    metric = Psnr(ceiling_db=50.0)
    outcome = metric.measure(ROLLOUT, features(Psnr(), [0.0, 1e-7, 1e-5, 1e-4]))
    assert [unit.outcome.value for unit in outcome.units] == pytest.approx([50, 50, 50, 40])
    assert outcome.detail == {"frames": 4, "frames_cut": 2}
    assert metric.range == (0.0, 50.0)


def test_a_ceiling_is_above_nothing():
    with pytest.raises(ValueError, match="found 0"):
        Psnr(ceiling_db=0)


@pytest.mark.parametrize(("metric", "scale"), [(ImagingQuality(), 100), (AestheticQuality(), 10)])
def test_quality_is_a_part_of_its_scale_with_the_raw_number_beside_it(metric, scale):
    outcome = metric.measure(ROLLOUT, features(metric, np.array([0.25 * scale, 0.75 * scale], np.float32)))
    assert (outcome.value, outcome.raw) == pytest.approx((0.5, 0.5 * scale))
    assert [unit.outcome.raw for unit in outcome.units] == pytest.approx([0.25 * scale, 0.75 * scale])
    beyond = metric.measure(ROLLOUT, features(metric, [1.2 * scale]))
    assert beyond.value == pytest.approx(1.2)


def test_other_metrics_have_no_raw_value():
    for metric in SERIES:
        if metric.raw_unit is None:
            assert metric.measure(ROLLOUT, features(metric, [0.5])).raw is None


def test_long_series_lose_nothing_in_their_mean():
    numbers = np.full(10_000, 0.1, np.float64)
    assert Mse().measure(ROLLOUT, features(Mse(), numbers)).value == 0.1


def test_cosines_outside_of_0_to_1_are_clipped():
    outcome = ReferenceRevisitSimilarity().measure(ROLLOUT, features(ReferenceRevisitSimilarity(), [-0.5, 0.5, 1.01]))
    assert [unit.outcome.value for unit in outcome.units] == [0, 0.5, 1]
    assert outcome.value == pytest.approx(0.5)


def test_a_reward_of_0_is_half_of_the_scale_and_the_mean_reward_is_beside_it():
    outcome = ImageReward().measure(ROLLOUT, {"rewards": rewards(0.0, 2.0, -2.0, 1000.0, -1000.0)})
    values = [unit.outcome.value for unit in outcome.units]
    assert values == pytest.approx([0.5, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2)), 1, 0])
    assert (outcome.value, outcome.detail["mean_reward"]) == (pytest.approx(0.5), 0.0)
    better, worse = (ImageReward().measure(ROLLOUT, {"rewards": rewards(reward)}).value for reward in (1.5, -1.5))
    assert better > worse
    assert ImageReward().measure(ROLLOUT, {"rewards": rewards()}).reason is Reason.TOO_SHORT


def rewards(*values: float) -> Feature:
    return Feature({"rewards": np.array(values, np.float32), "frame_indices": np.arange(len(values))})


def test_equal_frames_without_a_ceiling_count_what_is_said_or_leave_the_clip_without_a_psnr():
    feature = Feature({"mse": np.array([0.0, 0.01, 1e-12]), "frame_indices": np.arange(3)})
    rollout = Rollout(case=Case(id="a", subset="all", scene="a"), model="m", video=Path("clip.mp4"))
    told = Psnr(ceiling_db=None, equal_db=100.0).measure(rollout, {"fidelity": feature})
    assert [unit.outcome.value for unit in told.units] == pytest.approx([100, 20, 120])
    assert told.detail["frames_cut"] == 1
    infinite = Psnr(ceiling_db=None).measure(rollout, {"fidelity": feature})
    assert (infinite.reason, len(infinite.units)) == (Reason.NOT_APPLICABLE, 3)
    assert "1 of 3 compared frames equal their partners" in infinite.message
    with pytest.raises(ValueError, match="leave out `equal_db`"):
        Psnr(ceiling_db=50.0, equal_db=100.0)
