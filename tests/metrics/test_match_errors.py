from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, Score
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from tests.metrics.two_view_scenes import elsewhere, matches, rollout, turned
from tests.support.room import there_and_back, trajectory

PAIRS = [(0, 20), (3, 17), (6, 14)]
METRICS = [SpatialEpipolar(), SpatialReprojection()]
MODELS = {"spatial_epipolar": "epipolar", "spatial_reprojection": "triangulation"}
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)


def path(*, offset: float = 0.1):
    return there_and_back("left_then_right", 21, return_offset_metres=offset)


def measure(metric, poses, found: Feature):
    return metric.measure(rollout(), {"poses": poses.to_feature(), "matches": found})


def with_noise(found: Feature, pixels: float, seed: int = 0) -> Feature:
    noise = np.random.default_rng(seed).normal(0, pixels, found["points_2"].shape)
    return Feature({**found.arrays, "points_2": found["points_2"] + noise}, found.detail)


@every_metric
@pytest.mark.parametrize("offset", [0.0, 0.1])
def test_a_rigid_world_with_true_poses_scores_one(metric, offset):
    poses = trajectory(path(offset=offset))
    outcome = measure(metric, poses, matches(poses, PAIRS))
    assert outcome.value == pytest.approx(1, abs=1e-6)
    assert outcome.raw == pytest.approx(0, abs=1e-6)


@every_metric
@pytest.mark.parametrize("offset", [0.0, 0.1])
def test_matches_that_have_nothing_to_do_with_each_other_score_zero(metric, offset):
    poses = trajectory(path(offset=offset))
    found = matches(poses, PAIRS)
    strangers = np.random.default_rng(0).uniform(0, 480, found["points_2"].shape)
    outcome = measure(metric, poses, Feature({**found.arrays, "points_2": strangers}))
    assert outcome.value < 1e-3
    assert outcome.raw > 30


@every_metric
@pytest.mark.parametrize("offset", [0.0, 0.1])
def test_where_the_world_begins_and_how_long_a_metre_is_do_not_matter(metric, offset):
    poses = trajectory(path(offset=offset))
    found = with_noise(matches(poses, PAIRS), 0.7)
    moved = trajectory(elsewhere(path(offset=offset), scale=7.3), median_depth=3.0 * 7.3)
    here, there = measure(metric, poses, found), measure(metric, moved, found)
    assert there.raw == pytest.approx(here.raw, rel=1e-6)
    assert there.value == pytest.approx(here.value, rel=1e-6)


# Linear triangulation weighs its equations in the first camera's frame; the distance to a line does not.
@pytest.mark.parametrize(("metric", "tolerance"), [(METRICS[0], 1e-9), (METRICS[1], 0.01)])
def test_it_does_not_matter_which_view_came_first(metric, tolerance):
    poses = trajectory(path())
    found = with_noise(matches(poses, PAIRS), 0.7)
    swapped = {"pairs": found["pairs"][:, ::-1], "points_1": found["points_2"], "points_2": found["points_1"]}
    there = measure(metric, poses, Feature({**found.arrays, **swapped}))
    assert there.raw == pytest.approx(measure(metric, poses, found).raw, rel=tolerance)


@every_metric
def test_errors_are_counted_in_pixels_of_the_matching_size(metric):
    poses = trajectory(path())
    found = with_noise(matches(poses, PAIRS), 0.7)
    double = {name: found[name] * 2 for name in ("points_1", "points_2", "size")}
    there = measure(metric, poses, Feature({**found.arrays, **double}))
    assert there.raw == pytest.approx(2 * measure(metric, poses, found).raw, rel=1e-6)


@every_metric
@pytest.mark.parametrize("offset", [0.0, 0.1])
def test_the_error_grows_with_the_error_of_the_poses(metric, offset):
    poses = trajectory(path(offset=offset))
    found = matches(poses, PAIRS)
    raws = [
        measure(metric, trajectory(turned(path(offset=offset), degrees)), found).raw
        for degrees in (0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
    ]
    assert all(less < more for less, more in pairwise(raws))


@every_metric
@pytest.mark.parametrize(("offset", "is_turn"), [(0.0, True), (0.1, False)])
def test_each_unit_says_which_model_it_was_measured_by(metric, offset, is_turn):
    poses = trajectory(path(offset=offset))
    outcome = measure(metric, poses, matches(poses, PAIRS))
    assert {unit.outcome.detail["model"] for unit in outcome.units} == {
        "homography" if is_turn else MODELS[metric.name]
    }


@every_metric
def test_the_score_is_the_mean_of_the_pairs_scores_and_the_raw_value_the_mean_of_their_errors(metric):
    poses = trajectory(path())
    outcome = measure(metric, poses, with_noise(matches(poses, PAIRS), 0.7))
    errors = [unit.outcome.raw for unit in outcome.units]
    assert [unit.name for unit in outcome.units] == ["f0_f20", "f3_f17", "f6_f14"]
    assert outcome.raw == pytest.approx(sum(errors) / 3)
    assert outcome.value == pytest.approx(sum(math.exp(-error) for error in errors) / 3)


@every_metric
def test_one_scale_of_pixels_divides_a_pairs_score_by_e(metric):
    poses = trajectory(path())
    found = with_noise(matches(poses, PAIRS[:1]), 0.7)
    raw = measure(metric, poses, found).raw
    assert measure(type(metric)(scale_pixels=raw), poses, found).value == pytest.approx(math.exp(-1))


@every_metric
def test_a_pair_with_too_few_matches_is_left_out_and_listed(metric):
    poses = trajectory(path())
    found = matches(poses, PAIRS[:2], count=10)
    fewer = {"offsets": np.array([0, 7, 17]), **{name: found[name][3:] for name in ("points_1", "points_2")}}
    outcome = measure(metric, poses, Feature({**found.arrays, **fewer}))
    assert isinstance(outcome, Score)
    assert outcome.units[0].outcome == Abstention(Reason.TOO_FEW_MATCHES, "7 matches, at least 8 needed.")
    assert (outcome.detail["pairs_scored"], outcome.detail["pairs_asked"]) == (1, 2)


@every_metric
def test_it_abstains_where_no_pair_has_enough_matches(metric):
    poses = trajectory(path())
    outcome = measure(metric, poses, matches(poses, PAIRS, count=7))
    assert isinstance(outcome, Abstention)
    assert (outcome.reason, len(outcome.units)) == (Reason.TOO_FEW_MATCHES, 3)


@every_metric
def test_poses_of_some_frames_are_found_by_the_frames_they_belong_to(metric):
    frames = np.arange(21) * 4
    poses = trajectory(path(), frame_indices=frames, frame_count=81)
    found = matches(trajectory(path()), PAIRS)
    of_video = Feature({**found.arrays, "pairs": frames[found["pairs"]]})
    assert measure(metric, poses, of_video).raw == pytest.approx(0, abs=1e-6)
