from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Pairs, Reason, Rollout, Score, Trajectory, Unmeasurable
from lookaway.io.clip_card import write_clip_arrays
from lookaway.io.world_clips import ARRAYS, CARD, DEPTH, WorldClip, open_world
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.true_matches import TrueMatches
from lookaway.perception.truth import TruePoses
from tests.support.mbench import write_poses
from tests.support.rendered import copy_small
from tests.support.watching import check_documented, perceive, rollout_of
from tests.support.world import FORM
from tests.support.world_clip import FRAMES, HEIGHT, clip_arrays, write_clip_folder

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.render,  # all clips are drawn before the first test
    pytest.mark.merge,
]

SEVERITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
METRICS = (SpatialEpipolar(), SpatialReprojection())
RECIPE = TrueMatches(poses=TruePoses(), pairs=FoldPairs())


@dataclass(frozen=True)
class GivenPairs:
    frames: tuple[tuple[int, int], ...]
    version = 1

    def select(self, rollout, frame_count, trajectory):
        return Pairs(np.array(self.frames), "given")


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> dict[tuple[str, str], WorldClip]:
    """By camera and model."""
    root = tmp_path_factory.mktemp("matches")
    faults = ("layout_change", "teleport", "camera_drift")
    copy_small(root, families=("kitchen",), events=("none",), faults=faults, severities=SEVERITIES)
    copy_small(root, families=("kitchen",), events=("none",), cameras=("orbit_left", "forward_backward"))
    return {(clip.card.camera, clip.card.model): clip for clip in open_world(root)}


def rollout(clip: WorldClip, **artifacts: Path) -> Rollout:
    return rollout_of(clip.video, artifacts={"truth": clip.folder / CARD, **artifacts})


def score(metric, clip: WorldClip, recipe: TrueMatches = RECIPE, **artifacts: Path) -> float:
    watched = rollout(clip, **artifacts)
    features = {"poses": perceive(recipe.poses, watched), "matches": perceive(recipe, watched)}
    outcome = metric.measure(watched, features)
    assert isinstance(outcome, Score)
    return outcome.value


def is_falling(values) -> bool:
    """Until it is low: which pairs are matched changes with what moved, by a hundredth of the score."""
    return all(more > less - (0.01 if more < 0.3 else 0) for more, less in pairwise(values))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_world_that_is_remembered_is_all_but_perfect(clips, metric):
    assert score(metric, clips["yaw_right_60", "perfect"]) > 0.999


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("camera", ["orbit_left", "forward_backward"])
def test_views_from_different_places_agree_too(clips, metric, camera):
    recipe = TrueMatches(poses=TruePoses(), pairs=GivenPairs(((0, 5), (5, 7))))
    assert score(metric, clips[camera, "perfect"], recipe) > 0.99


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("fault", ["layout_change", "teleport"])
def test_the_score_falls_with_what_moved_while_it_was_unseen(clips, metric, fault):
    models = ["perfect", *(f"{fault}-{severity:.2f}" for severity in SEVERITIES)]
    assert is_falling([score(metric, clips["yaw_right_60", model]) for model in models])


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_camera_that_drifts_from_what_was_asked_contradicts_the_poses_that_were_asked_for(clips, metric, tmp_path):
    recipe = TrueMatches(poses=SuppliedPoses(), pairs=FoldPairs())
    values = []
    for model in ("perfect", *(f"camera_drift-{severity:.2f}" for severity in SEVERITIES)):
        clip = clips["yaw_right_60", model]
        arrays, size = clip.arrays(), (clip.card.width, clip.card.height)
        asked = arrays.requested_camera_to_world
        poses = write_poses(tmp_path / f"{model}.npz", asked, arrays.intrinsics, size=size)
        values.append(score(metric, clip, recipe, poses=poses))
        assert score(metric, clip) > 0.999  # by the poses that it really had, nothing is wrong
    assert values[0] > 0.999
    assert is_falling(values[:4])  # beyond, there is nothing left to lose


def test_points_are_counted_in_pixels_of_the_height_that_the_recipe_names(clips):
    clip = clips["yaw_right_60", "perfect"]
    small, large = (
        perceive(TrueMatches(poses=TruePoses(), pairs=FoldPairs(), height=height), rollout(clip))
        for height in (FORM.height, 3 * FORM.height)
    )
    assert small["size"].tolist() == [FORM.width, FORM.height]
    assert large["size"].tolist() == [3 * FORM.width, 3 * FORM.height]
    np.testing.assert_allclose(large["points_1"], 3 * small["points_1"], rtol=1e-6)
    np.testing.assert_allclose(large["points_2"], 3 * small["points_2"], rtol=1e-6)
    assert (small["points_1"] % 4 == 2.5).all()


def test_matches_stay_on_their_thing_and_in_the_picture(clips):
    clip = clips["orbit_left", "perfect"]
    recipe = TrueMatches(poses=TruePoses(), pairs=GivenPairs(((0, 6),)), height=FORM.height)
    found = perceive(recipe, rollout(clip))
    planes = list(clip.instances())
    (columns_1, rows_1), (columns_2, rows_2) = (found[name].astype(int).T for name in ("points_1", "points_2"))
    assert len(rows_1) > 100
    np.testing.assert_array_equal(planes[0][rows_1, columns_1], planes[6][rows_2, columns_2])
    depths = list(clip.depth())
    assert len(rows_1) < np.count_nonzero(planes[0][2::4, 2::4])  # some of them are hidden, or out of the picture
    assert depths[6][rows_2, columns_2].min() > 0


def test_what_is_seen_at_another_depth_is_another_point(clips):
    counts = [
        len(perceive(recipe, rollout(clips["orbit_left", "perfect"]))["points_1"])
        for recipe in (
            TrueMatches(poses=TruePoses(), pairs=GivenPairs(((0, 6),)), depth_tolerance=tolerance)
            for tolerance in (0.0, 0.03, 1e9)
        )
    ]
    assert counts[0] < 10 < counts[1] < counts[2]


def test_points_turn_with_their_thing(tmp_path):
    write_clip_folder(tmp_path)
    clip, still = WorldClip.open(tmp_path), clip_arrays()
    position, turn = np.repeat(still.position[:1], FRAMES, axis=0), still.quaternion_wxyz.copy()
    # The third thing is 3.007 m away and fills the columns 40 to 50 and the rows 10 to 30.
    position[:, 2] = 3.007 * np.array([(45 - 32) / 50, (20 - 24) / 50, 1])
    turn[5, 2] = [0, 0, 0, 1]
    write_clip_arrays(tmp_path / ARRAYS, replace(still, position=position, quaternion_wxyz=turn))
    recipe = TrueMatches(poses=TruePoses(), pairs=GivenPairs(((0, 5),)), height=HEIGHT, rows=HEIGHT)
    found = perceive(recipe, rollout(clip))
    is_turned = (np.abs(found["points_1"] - (45, 20)) < (5, 10)).all(axis=1)
    assert np.count_nonzero(is_turned) == 200
    np.testing.assert_allclose(found["points_2"][is_turned], (90, 40) - found["points_1"][is_turned], atol=1e-3)
    np.testing.assert_allclose(found["points_2"][~is_turned], found["points_1"][~is_turned], atol=1e-3)


def test_frames_that_have_nothing_in_common_have_no_matches(clips):
    clip = clips["yaw_right_60", "perfect"]
    away = FORM.frames // 2
    turned = Trajectory.from_feature(perceive(TruePoses(), rollout(clip))).rotations
    assert (turned[0].T @ turned[away])[2, 2] < 0.6
    recipe = TrueMatches(poses=TruePoses(), pairs=GivenPairs(((0, away), (0, FORM.frames - 1))))
    found = perceive(recipe, rollout(clip))
    start, middle, end = found["offsets"].tolist()
    assert start == 0
    assert middle < (end - middle) / 5
    assert end == len(found["points_1"]) == len(found["points_2"])


def test_a_feature_holds_what_is_documented_and_says_by_which_rule(clips):
    found = perceive(RECIPE, rollout(clips["yaw_right_60", "perfect"]))
    check_documented(RECIPE, found)
    assert found.detail == {"rule": "fold"}


def test_a_video_of_a_model_has_no_truth(tmp_path):
    declined = RECIPE.declines(rollout_of(tmp_path / "video.mp4"))
    assert declined.reason is Reason.MISSING_INPUT
    assert "simulated world" in declined.message


def test_damaged_depth_is_an_abstention(tmp_path):
    write_clip_folder(tmp_path)
    (tmp_path / DEPTH).write_bytes((tmp_path / DEPTH).read_bytes()[:-200])
    clip = WorldClip.open(tmp_path)
    recipe = TrueMatches(poses=SuppliedPoses(), pairs=GivenPairs(((0, 5),)))
    size = (clip.card.width, clip.card.height)
    poses = write_poses(tmp_path / "p.npz", clip.arrays().camera_to_world, clip.arrays().intrinsics, size=size)
    with pytest.raises(Unmeasurable):
        perceive(recipe, rollout(clip, poses=poses))
