from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Case, Reason, Rollout, Timeline, Trajectory, UnknownName, Unmeasurable
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
