from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import ArtifactError, Case, Reason, Rollout, Timeline, Trajectory, UnknownName, Unmeasurable
from lookaway.perception.supplied_poses import SuppliedPoses
from tests.support.mbench import write_poses
from tests.support.room import Room, there_and_back

PATH = there_and_back("left_then_right", 9, return_offset_metres=0.1)
TIMELINE = Timeline(np.arange(9) / 8, 832, 480)


def rollout(**artifacts: Path) -> Rollout:
    case = Case(id="room", subset="all", scene="room")
    return Rollout(case=case, model="model", video=Path("clip.mp4"), artifacts=artifacts)


def perceive(recipe: SuppliedPoses, path: Path) -> Trajectory:
    return Trajectory.from_feature(recipe.load().begin(rollout(poses=path), TIMELINE, {}).perceive())


def test_it_declines_a_record_that_names_no_poses():
    declined = SuppliedPoses().declines(rollout(depth=Path("depth.npz")))
    assert (declined.reason, declined.message) == (Reason.MISSING_INPUT, "the record names no camera poses.")


def test_it_declines_poses_that_are_not_there(tmp_path):
    declined = SuppliedPoses().declines(rollout(poses=tmp_path / "results.npz"))
    assert declined.reason is Reason.MISSING_INPUT
    assert "results.npz" in declined.message


def test_it_does_not_decline_poses_that_are_there(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics)
    assert SuppliedPoses().declines(rollout(poses=path)) is None


@pytest.mark.parametrize("convention", ["world_to_camera", "camera_to_world"])
def test_either_convention_gives_the_path_that_was_written(tmp_path, convention):
    path = write_poses(
        tmp_path / "results.npz", PATH, Room(0).intrinsics, world_to_camera=convention == "world_to_camera"
    )
    np.testing.assert_allclose(perceive(SuppliedPoses(convention), path).camera_to_world, PATH, atol=1e-6)


def test_a_convention_that_does_not_exist_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'camera_to_world'"):
        SuppliedPoses("camera_to_wrold")


def test_a_failed_estimate_is_unmeasurable(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH * np.nan, Room(0).intrinsics)
    with pytest.raises(Unmeasurable) as caught:
        perceive(SuppliedPoses(), path)
    assert caught.value.reason is Reason.POSE_FAILED


def test_it_asks_for_no_frame(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics)
    assert SuppliedPoses().load().begin(rollout(poses=path), TIMELINE, {}).request is None


def test_the_depth_of_a_frame_is_the_median_of_the_pixels_that_the_recipe_asks_for(tmp_path):
    depth = np.full((len(PATH), 60, 104), 9.0, np.float32)
    depth[:, ::8, ::8] = 2.0
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics, depth=depth)
    assert set(perceive(SuppliedPoses(), path).median_depth) == {2.0}
    assert set(perceive(SuppliedPoses(depth_stride=1), path).median_depth) == {9.0}


def test_matrices_that_are_nearly_rotations_are_as_good_as_the_recipe_says(tmp_path):
    sheared = PATH.copy()
    sheared[:, 0, 1] += 0.02
    path = write_poses(tmp_path / "results.npz", sheared, Room(0).intrinsics, world_to_camera=False)
    recipe = SuppliedPoses("camera_to_world", rotation_tolerance=0.1)
    np.testing.assert_allclose(perceive(recipe, path).camera_to_world, sheared, atol=1e-6)
    with pytest.raises(ArtifactError, match="no rotations"):
        perceive(SuppliedPoses("camera_to_world"), path)
