from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import MaskTrack, Reason, Reference, Rollout, Trajectory, Unmeasurable
from lookaway.io.sampling import EveryFrame, UniformFrames
from lookaway.io.world_clips import CARD, DEPTH, VIDEO
from lookaway.metrics.reappearance import ReappearanceScore
from lookaway.perception.truth import (
    TrueBoxes,
    TrueDepth,
    TrueDetections,
    TrueInverseDepth,
    TrueMasks,
    TruePoses,
    TrueReferencePoses,
    TrueRequestedPoses,
    TrueStates,
)
from tests.support.watching import check_documented, perceive, rollout_of
from tests.support.world_clip import (
    FRAMES,
    HEIGHT,
    WIDTH,
    clip_arrays,
    depth_planes,
    instance_planes,
    write_clip_folder,
)

ALL = [
    TruePoses(),
    TrueRequestedPoses(),
    TrueMasks(EveryFrame()),
    TrueBoxes(EveryFrame()),
    TrueDetections(EveryFrame()),
    TrueDepth(EveryFrame()),
    TrueInverseDepth(EveryFrame()),
    TrueStates(),
]


@pytest.fixture
def rollout(tmp_path: Path) -> Rollout:
    write_clip_folder(tmp_path)
    return rollout_of(tmp_path / VIDEO, artifacts={"truth": tmp_path / CARD})


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_a_feature_holds_what_is_documented(recipe, rollout):
    check_documented(recipe, perceive(recipe, rollout))


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_a_video_of_a_model_has_no_truth(recipe, rollout):
    declined = recipe.declines(rollout_of(rollout.video))
    assert declined.reason is Reason.MISSING_INPUT
    assert "simulated world" in declined.message


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_a_card_that_is_not_valid_is_an_abstention(recipe, rollout):
    rollout.artifacts["truth"].write_text("{}")
    with pytest.raises(Unmeasurable) as refused:
        perceive(recipe, rollout)
    assert refused.value.reason is Reason.INVALID_INPUT


@pytest.mark.parametrize("recipe", ALL, ids=lambda recipe: recipe.name)
def test_the_truth_of_another_clip_is_refused(recipe, tmp_path, rollout):
    write_clip_folder(
        tmp_path / "other",
        frames=FRAMES + 1,
        phases={"visible": [0, 2], "disappeared": [2, 4], "reappeared": [4, FRAMES + 1], "causes": []},
    )
    other = rollout_of(rollout.video, artifacts={"truth": tmp_path / "other" / CARD})
    with pytest.raises(Unmeasurable, match="do not belong together"):
        perceive(recipe, other)


def test_poses_are_those_of_the_camera(rollout):
    trajectory = Trajectory.from_feature(perceive(TruePoses(), rollout))
    np.testing.assert_array_equal(trajectory.camera_to_world, clip_arrays().camera_to_world)
    assert trajectory.frame_count == FRAMES


def test_requested_poses_are_those_of_the_request(rollout):
    trajectory = Trajectory.from_feature(perceive(TrueRequestedPoses(), rollout))
    np.testing.assert_array_equal(trajectory.camera_to_world, clip_arrays().requested_camera_to_world)


def test_poses_of_the_reference_are_those_of_its_own_truth(tmp_path, rollout):
    write_clip_folder(tmp_path / "faulty")
    reference = Reference(video=rollout.video, artifacts=rollout.artifacts)
    faulty = rollout_of(tmp_path / "faulty" / VIDEO, artifacts={"truth": tmp_path / "faulty" / CARD})
    assert TrueReferencePoses().declines(faulty).reason is Reason.MISSING_INPUT
    compared = replace(faulty, case=replace(faulty.case, reference=reference))
    trajectory = Trajectory.from_feature(perceive(TrueReferencePoses(), compared))
    np.testing.assert_array_equal(trajectory.camera_to_world, clip_arrays().camera_to_world)
    bare = replace(compared, case=replace(compared.case, reference=Reference(video=rollout.video)))
    assert TrueReferencePoses().declines(bare).reason is Reason.MISSING_INPUT


def test_masks_are_those_of_the_target_in_the_sampled_frames(rollout):
    track = MaskTrack.from_feature(perceive(TrueMasks(UniformFrames(3)), rollout))
    assert track.frame_indices.tolist() == [0, 2, 5]
    assert set(track.things) == {1}
    for position, index in enumerate(track.frame_indices):
        np.testing.assert_array_equal(track.mask(position), instance_planes()[index] == 1)


def test_masks_of_all_things_cover_all_but_the_sky(rollout):
    track = MaskTrack.from_feature(perceive(TrueMasks(UniformFrames(1), all_things=True), rollout))
    together = sum(track.mask(position).astype(int) for position in range(len(track)))
    np.testing.assert_array_equal(together, instance_planes()[0] > 0)


def test_boxes_hold_the_target_and_nothing_around_it(rollout):
    feature = perceive(TrueBoxes(EveryFrame()), rollout)
    for index, box in zip(feature["frame_indices"], feature["boxes"] * [WIDTH, HEIGHT, WIDTH, HEIGHT], strict=True):
        assert box.round(3).tolist() == [5 + index, 20, 15 + index, 30]


def test_a_detector_that_never_errs_is_sure_of_what_the_target_covers(rollout):
    feature = perceive(TrueDetections(UniformFrames(3)), rollout)
    assert feature["detection_frames"].tolist() == [0, 2, 5]
    np.testing.assert_allclose(feature["coverages"], 100 / (WIDTH * HEIGHT))
    assert feature["scores"].tolist() == [1, 1, 1]


def test_a_target_that_is_unseen_is_looked_for_and_not_found(tmp_path):
    card = write_clip_folder(tmp_path)
    things = [thing.model_dump() for thing in card.things]
    things[0]["id"] = 99
    write_clip_folder(tmp_path, things=things)
    rollout = rollout_of(tmp_path / VIDEO, artifacts={"truth": tmp_path / CARD})
    feature = perceive(TrueBoxes(UniformFrames(2)), rollout)
    assert feature["boxes"].shape == (0, 4)
    assert feature["looked_at"].tolist() == [0, 5]
    outcome = ReappearanceScore().measure(rollout, {"detections": perceive(TrueDetections(UniformFrames(2)), rollout)})
    assert (outcome.value, outcome.detail["frames_detected"]) == (0, 0)


def test_depth_is_taken_from_the_middle_of_every_so_many_pixels(rollout):
    feature = perceive(TrueDepth(UniformFrames(2), stride=4), rollout)
    expected = depth_planes()[5][2::4, 2::4] / 1000
    np.testing.assert_allclose(feature["depth"][1], expected, rtol=1e-3)


def test_inverse_depth_is_one_over_depth_and_0_for_the_sky(rollout):
    feature = perceive(TrueInverseDepth(UniformFrames(2), stride=4), rollout)
    metres = depth_planes()[5][2::4, 2::4] / 1000
    assert feature["frame_indices"].tolist() == [0, 5]
    assert (metres == 0).any()
    assert (feature["inverse_depth"][1][metres == 0] == 0).all()
    np.testing.assert_allclose(feature["inverse_depth"][1][metres > 0], 1 / metres[metres > 0], rtol=1e-3)


def test_damaged_depth_is_an_abstention(rollout):
    path = rollout.video.parent / DEPTH
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(Unmeasurable):
        perceive(TrueDepth(), rollout)


def test_states_are_those_of_the_simulation(rollout):
    feature = perceive(TrueStates(), rollout)
    np.testing.assert_array_equal(feature["position"], clip_arrays().position)
    assert feature["things"].tolist() == [1, 2, 3]
