from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import (
    ArtifactError,
    Case,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    UnknownName,
    Unmeasurable,
    UserError,
)
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from tests.support.mbench import write_poses
from tests.support.room import Room, there_and_back

PATH = there_and_back("left_then_right", 9, return_offset_metres=0.1)
TIMELINE = Timeline(np.arange(9) / 8, 832, 480)


def rollout(**artifacts: Path) -> Rollout:
    case = Case(id="room", subset="all", scene="room")
    return Rollout(case=case, model="model", video=Path("clip.mp4"), artifacts=artifacts)


def perceive(recipe: SuppliedPoses, path: Path) -> Trajectory:
    return Trajectory.from_feature(recipe.load().start(rollout(poses=path), TIMELINE, {}).finish())


def test_it_declines_a_record_that_names_no_poses():
    declined = SuppliedPoses().declines(rollout(depth=Path("depth.npz")))
    assert declined.reason is Reason.MISSING_INPUT
    assert declined.message.startswith("the record names no camera poses.")
    assert "--use poses=tracked_poses" in declined.message


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


def test_poses_whose_convention_could_not_be_told_are_declined_and_never_read(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics)
    declined = SuppliedPoses("ambiguous").declines(rollout(poses=path))
    assert declined.reason is Reason.POSE_CONVENTION_AMBIGUOUS
    assert "--extrinsics-convention" in declined.message
    with pytest.raises(Unmeasurable) as caught:
        perceive(SuppliedPoses("ambiguous"), path)
    assert caught.value.reason is Reason.POSE_CONVENTION_AMBIGUOUS


def test_a_failed_estimate_is_unmeasurable(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH * np.nan, Room(0).intrinsics)
    with pytest.raises(Unmeasurable) as caught:
        perceive(SuppliedPoses(), path)
    assert caught.value.reason is Reason.POSE_FAILED


def test_it_asks_for_no_frame(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics)
    assert SuppliedPoses().load().start(rollout(poses=path), TIMELINE, {}).request is None


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
    with pytest.raises(ArtifactError, match="not rotations"):
        perceive(SuppliedPoses("camera_to_world"), path)


# Layouts


def test_a_layout_that_does_not_exist_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'colmap'"):
        SuppliedPoses(layout="colnap")


def test_a_layout_with_one_convention_takes_no_other():
    with pytest.raises(UserError, match="leave out `convention`"):
        SuppliedPoses("camera_to_world", layout="vggt")


@pytest.mark.parametrize("degrees", [0, 180, -60, float("nan")])
def test_a_field_of_view_is_an_angle(degrees):
    with pytest.raises(UserError, match="field of view"):
        SuppliedPoses(assumed_fov_degrees=degrees)


@pytest.mark.parametrize("depth", [0, -1, float("nan"), float("inf")])
def test_a_depth_is_positive(depth):
    with pytest.raises(UserError, match="depth"):
        SuppliedPoses(assumed_depth=depth)


def test_what_is_assumed_is_told_in_the_detail(tmp_path):
    np.save(tmp_path / "poses.npy", PATH)
    recipe = SuppliedPoses(layout="vggt", assumed_fov_degrees=60)
    feature = recipe.load().start(rollout(poses=tmp_path / "poses.npy"), TIMELINE, {}).finish()
    np.testing.assert_array_equal(feature["camera_to_world"], PATH)
    assert feature.detail == {
        "intrinsics": "assumed: a horizontal field of view of 60 degrees",
        "median_depth": "assumed: the extent of the path",
    }


def test_without_a_field_of_view_bare_poses_are_unmeasurable(tmp_path):
    np.save(tmp_path / "poses.npy", PATH)
    with pytest.raises(Unmeasurable, match="assumed_fov_degrees") as caught:
        perceive(SuppliedPoses(layout="vggt"), tmp_path / "poses.npy")
    assert caught.value.reason is Reason.MISSING_INPUT


def test_the_lens_is_the_artifact_of_that_name(tmp_path):
    np.savez(tmp_path / "poses.npz", data=PATH, inds=np.arange(9))
    np.savez(tmp_path / "lens.npz", data=np.tile([500.0, 510, 416, 240], (9, 1)), inds=np.arange(9))
    artifacts = {"poses": tmp_path / "poses.npz", "intrinsics": tmp_path / "lens.npz"}
    watch = SuppliedPoses(layout="vipe").load().start(rollout(**artifacts), TIMELINE, {})
    feature = watch.finish()
    assert feature["intrinsics"][4].tolist() == [[500, 0, 416], [0, 510, 240], [0, 0, 1]]
    assert "intrinsics" not in feature.detail


def test_the_fields_of_the_recipe_reach_the_reader(tmp_path):
    line = "1 1 0 0 0 0 0 0 1 a_7.jpg\n\n2 1 0 0 0 3 0 0 1 a_8.jpg\n"
    (tmp_path / "images.txt").write_text(line)
    recipe = SuppliedPoses(layout="colmap", assumed_fov_degrees=90, assumed_depth=2.5, first_frame_number=7)
    trajectory = perceive(recipe, tmp_path / "images.txt")
    assert trajectory.frame_indices.tolist() == [0, 1]
    assert trajectory.median_depth.tolist() == [2.5, 2.5]
    assert trajectory.intrinsics[0, 0, 0] == pytest.approx(416)


def test_nothing_is_told_of_poses_that_say_all(tmp_path):
    path = write_poses(tmp_path / "results.npz", PATH, Room(0).intrinsics)
    assert SuppliedPoses().load().start(rollout(poses=path), TIMELINE, {}).finish().detail == {}
