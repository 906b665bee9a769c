from __future__ import annotations

import math

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, Score, UnknownName, UserError
from lookaway.metrics.match_errors import SpatialEpipolar
from lookaway.metrics.match_shares import SpatialCapped, SpatialMatched, SpatialWithin
from tests.metrics.two_view_scenes import elsewhere, matches, rollout
from tests.support.room import there_and_back, trajectory

PAIRS = [(0, 20), (3, 17), (6, 14)]
DEPTH_METRES = 3.0
TURN, MOVE = 0.0, 0.4
"""By how many metres the camera is aside on its way back."""
KINDS = {TURN: "turns", MOVE: "moves"}
every_kind = pytest.mark.parametrize("offset", KINDS, ids=list(KINDS.values()))
every_metric = pytest.mark.parametrize("kind", [SpatialWithin, SpatialCapped], ids=lambda kind: kind.name)


def path(offset: float = TURN):
    return there_and_back("left_then_right", 21, return_offset_metres=offset)


def measure(metric, poses, found: Feature):
    return metric.measure(rollout(), {"poses": poses.to_feature(), "matches": found})


def shifted(found: Feature, *, share: float = 0.0, pixels: float = 0.0, noise: float = 0.26, seed: int = 0) -> Feature:
    """Matches with the noise of a matcher, and a part of them moved in random directions."""
    rng = np.random.default_rng(seed)
    points = found["points_2"] + rng.normal(0, noise, found["points_2"].shape)
    moved = rng.permutation(len(points))[: round(share * len(points))]
    angles = rng.uniform(0, 2 * np.pi, len(moved))
    points[moved] += pixels * np.column_stack([np.cos(angles), np.sin(angles)])
    return Feature({**found.arrays, "points_2": points}, found.detail)


def jittered(offset: float = TURN):
    """Centres that an estimator got wrong by 0.2 % of the depth: enough to give every pair a baseline."""
    noisy = path(offset)
    noisy[:, :3, 3] += np.random.default_rng(1).normal(0, 0.002 * DEPTH_METRES, (len(noisy), 3))
    return trajectory(noisy)


@every_metric
@every_kind
def test_a_rigid_world_with_true_poses_scores_one(kind, offset):
    poses = trajectory(path(offset))
    assert measure(kind(camera=KINDS[offset]), poses, matches(poses, PAIRS)).value == pytest.approx(1, abs=1e-6)


@every_metric
@every_kind
def test_matches_that_have_nothing_to_do_with_each_other_score_next_to_nothing(kind, offset):
    poses = trajectory(path(offset))
    found = matches(poses, PAIRS)
    strangers = np.random.default_rng(0).uniform(0, 480, found["points_2"].shape)
    outcome = measure(kind(camera=KINDS[offset]), poses, Feature({**found.arrays, "points_2": strangers}))
    assert outcome.value < 0.05


@every_metric
@every_kind
def test_where_the_world_begins_and_how_long_a_metre_is_do_not_matter(kind, offset):
    poses, metric = trajectory(path(offset)), kind(camera=KINDS[offset])
    found = shifted(matches(poses, PAIRS), share=0.1, pixels=8)
    moved = trajectory(elsewhere(path(offset), scale=7.3), median_depth=DEPTH_METRES * 7.3)
    assert measure(metric, moved, found).value == pytest.approx(measure(metric, poses, found).value)


@every_metric
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_jitter_of_the_centres_does_not_raise_the_score_of_a_turn(kind, share):
    poses = trajectory(path())
    found = shifted(matches(poses, PAIRS, count=400), share=share, pixels=8)
    published = [measure(SpatialEpipolar(), cameras, found).value for cameras in (poses, jittered())]
    ours = [measure(kind(), cameras, found).value for cameras in (poses, jittered())]
    assert published[1] > published[0] * 1.05
    assert ours[1] == pytest.approx(ours[0])


@every_metric
@every_kind
def test_an_object_that_moved_lowers_the_score(kind, offset):
    poses, metric = trajectory(path(offset)), kind(camera=KINDS[offset])
    found = matches(poses, PAIRS, count=400)
    clean, moved = (measure(metric, poses, shifted(found, share=share, pixels=8)).value for share in (0, 0.15))
    assert moved < clean - 0.08


def test_the_share_falls_by_the_matches_that_moved():
    poses = trajectory(path())
    found = shifted(matches(poses, PAIRS, count=400), share=0.15, pixels=8)
    assert measure(SpatialWithin(), poses, found).value == pytest.approx(0.85, abs=0.02)


def test_a_few_matches_that_are_wrong_by_hundreds_of_pixels_move_neither():
    poses = trajectory(path())
    found = matches(poses, PAIRS, count=400)
    wild = shifted(found, share=0.0025, pixels=283)
    assert measure(SpatialEpipolar(), poses, wild).value < 0.8 * measure(SpatialEpipolar(), poses, shifted(found)).value
    for metric in (SpatialWithin(), SpatialCapped()):
        assert measure(metric, poses, wild).value == pytest.approx(
            measure(metric, poses, shifted(found)).value, abs=0.02
        )


def test_the_capped_score_is_that_of_the_mean_error_with_none_beyond_the_cap():
    poses = trajectory(path())
    found = matches(poses, PAIRS[:1], count=20)
    points = found["points_2"].copy()
    points[:5, 0] += 100
    outcome = measure(SpatialCapped(), poses, Feature({**found.arrays, "points_2": points}))
    assert (outcome.raw, outcome.value) == (pytest.approx(5 / 4), pytest.approx(math.exp(-5 / 4)))


def test_a_moving_camera_excuses_no_point_nearer_than_points_are():
    """Along its epipolar line a point may be anywhere, but not beyond where the nearest points of the scene are."""
    poses = trajectory(path(MOVE))
    found = matches(poses, PAIRS)
    nearer = found["points_2"].copy()
    nearer[:, 0] += 0.5 * 480
    there = Feature({**found.arrays, "points_2": nearer}, found.detail)
    assert measure(SpatialCapped(camera="moves", nearest=0.2), poses, there).value < 0.01


@every_metric
def test_cameras_of_the_other_kind_are_declined_so_that_no_mean_has_both(kind):
    for offset, camera in KINDS.items():
        poses = trajectory(path(offset))
        (other,) = {*KINDS.values()} - {camera}
        outcome = measure(kind(camera=other), poses, matches(poses, PAIRS))
        assert (type(outcome), outcome.reason) == (Abstention, Reason.NOT_APPLICABLE)
        assert f"the camera {camera}" in outcome.message


@every_metric
def test_the_row_says_how_it_was_measured(kind):
    poses = trajectory(path())
    detail = measure(kind(), poses, matches(poses, PAIRS)).detail
    assert detail == {
        "branch": "a camera that turns",
        "pairs": "fold",
        "pairs_scored": 3,
        "pairs_asked": 3,
        "partner_frames": 3,
    }


@every_metric
def test_too_few_matches_are_declined(kind):
    poses = trajectory(path())
    outcome = measure(kind(), poses, matches(poses, PAIRS, count=7))
    assert (type(outcome), outcome.reason, len(outcome.units)) == (Abstention, Reason.TOO_FEW_MATCHES, 3)


def test_a_camera_of_no_kind_and_a_depth_of_zero_are_refused():
    with pytest.raises(UnknownName, match="No camera is named 'flies'"):
        SpatialWithin(camera="flies")
    with pytest.raises(UserError, match="The least depth is positive"):
        SpatialWithin(nearest=0.0)


class TestMatched:
    def points(self, counts) -> Feature:
        found = matches(trajectory(path()), PAIRS, count=40)
        return Feature({**found.arrays, "points": np.array(counts)}, found.detail)

    def value(self, counts):
        return SpatialMatched().measure(rollout(), {"matches": self.points(counts)})

    def test_every_point_matched_scores_one(self):
        assert self.value([[40, 40]] * 3).value == 1

    def test_no_point_matched_scores_zero(self):
        found = self.points([[40, 40]] * 3)
        empty = {name: found[name][:0] for name in ("points_1", "points_2")}
        none = Feature({**found.arrays, **empty, "offsets": np.zeros(4, np.int64)}, found.detail)
        assert SpatialMatched().measure(rollout(), {"matches": none}).value == 0

    def test_points_that_only_one_of_the_frames_has_do_not_matter(self):
        assert self.value([[80, 900]] * 3).value == self.value([[2000, 80]] * 3).value == 0.5

    def test_a_pair_with_an_empty_frame_is_left_out_and_listed(self):
        outcome = self.value([[80, 80], [80, 0], [80, 80]])
        assert isinstance(outcome, Score)
        assert (outcome.value, outcome.detail["pairs_scored"], outcome.detail["pairs_asked"]) == (0.5, 2, 3)

    def test_frames_without_points_are_declined(self):
        outcome = self.value([[0, 0]] * 3)
        assert (type(outcome), outcome.reason) == (Abstention, Reason.TOO_FEW_MATCHES)
