from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, MetricBase, Reason, Score, Unit, describe
from lookaway.metrics.frame_metrics import AestheticQuality, Lpips, Psnr, Ssim
from lookaway.metrics.phase_mean import PhaseMean
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
PHASES = Feature(
    {"bounds": np.array([[0, 4], [4, 6], [6, 10], [10, 10]])},
    {"phases": ["visible", "disappeared", "reappeared", "never"]},
)
SERIES = np.array([1.0, 1, 1, 1, 0, 0, 0.5, 0.5, 0.5, 0.5])
FIDELITY = Feature({"ssim": SERIES, "mse": 1 - SERIES, "frame_indices": np.arange(10)})


def measured(phase, metric=None, **features):
    metric = PhaseMean(metric=metric or Ssim(), phase=phase)
    return metric.measure(ROLLOUT, {"phases": PHASES, "fidelity": FIDELITY, **features})


@pytest.mark.parametrize(("phase", "value"), [("visible", 1.0), ("disappeared", 0.0), ("reappeared", 0.5)])
def test_the_mean_is_over_the_frames_of_the_phase(phase, value):
    outcome = measured(phase)
    assert outcome.value == value
    assert outcome.detail["phase"] == phase
    assert outcome.detail["frames"] == len(outcome.units) == {"disappeared": 2}.get(phase, 4)


def test_frames_of_other_phases_do_not_matter():
    changed = Feature({**FIDELITY.arrays, "ssim": np.where(np.arange(10) < 6, -1, SERIES)})
    assert measured("reappeared", fidelity=changed) == measured("reappeared")


def test_only_measured_frames_count():
    sparse = Feature({"ssim": np.array([0.2, 0.8]), "frame_indices": np.array([3, 7])})
    assert measured("reappeared", fidelity=sparse).value == 0.8
    outcome = measured("disappeared", fidelity=sparse)
    assert (outcome.reason, "spans the frames 4 to 6" in outcome.message) == (Reason.TOO_SHORT, True)


def test_a_frame_that_two_phases_share_counts_in_both():
    shared = Feature({"bounds": np.array([[0, 5], [4, 7]])}, {"phases": ["first", "second"]})
    assert measured("first", phases=shared).value == pytest.approx(4 / 5)
    assert measured("second", phases=shared).value == pytest.approx(0.5 / 3)


def test_it_is_described_by_the_metric_inside():
    inside = PhaseMean(metric=Psnr(ceiling_db=60), phase="visible")
    assert (inside.unit, inside.range, inside.higher_is_better) == ("dB", (0.0, 60), True)
    assert inside.needs == ("fidelity", "phases")
    assert PhaseMean(metric=Lpips()).higher_is_better is False
    assert describe(inside)["metric"] == describe(Psnr(ceiling_db=60))


def test_raw_values_are_averaged_too():
    aesthetic = Feature({"aesthetic": np.arange(10.0), "frame_indices": np.arange(10)})
    outcome = measured("reappeared", AestheticQuality(), aesthetic=aesthetic)
    assert (outcome.value, outcome.raw) == (pytest.approx(0.75), 7.5)


def test_a_pair_counts_where_both_of_its_frames_are_in_the_phase():
    pairs = Feature({"ssim": np.array([0.1, 0.4, 0.9]), "frames": np.array([[0, 8], [6, 9], [0, 3]])})
    assert measured("reappeared", fidelity=pairs).value == 0.4


@pytest.mark.parametrize(("phase", "reason"), [("gone", Reason.MISSING_INPUT), ("never", Reason.TOO_SHORT)])
def test_a_phase_that_is_not_there_is_an_abstention(phase, reason):
    assert measured(phase).reason is reason


def test_what_the_metric_abstains_from_is_abstained_from():
    empty = Feature({"ssim": np.zeros(0), "frame_indices": np.zeros(0, np.int64)})
    assert measured("visible", fidelity=empty) == Ssim().measure(ROLLOUT, {"fidelity": empty})


@dataclass(frozen=True, slots=True)
class Whole(MetricBase):
    """Has one value and parts that are no frames."""

    name = "whole"

    def declines(self, rollout):
        return Abstention(Reason.NO_TARGET, "none")

    def measure(self, rollout, features):
        return Score(1.0, units=(Unit("left", Score(1.0)),))


def test_a_metric_without_frames_is_not_applicable():
    assert measured("visible", Whole()).reason is Reason.NOT_APPLICABLE


def test_what_the_metric_declines_is_declined():
    assert PhaseMean(metric=Whole()).declines(ROLLOUT).reason is Reason.NO_TARGET
