from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import ArtifactError, Reason, Timeline, Trajectory
from lookaway.perception.poses.requested_poses import (
    RequestedPath,
    RequestedPoses,
    peak_turn_degrees,
    without_gain,
)
from tests.support.watching import check_documented, rollout_of
from tests.support.wrbench import there_and_back

TIMELINE = Timeline(np.arange(81) / 16, 64, 48)


@pytest.fixture
def rollout(tmp_path):
    rollout = rollout_of(tmp_path / "clip.mp4")
    names = {"target_poses": "clip.mp4.target_c2w.npy", "camera_sidecar": "clip.mp4.camera.json"}
    return replace(rollout, artifacts={kind: tmp_path / name for kind, name in names.items()})


def write(rollout, target, **declared):
    np.save(rollout.artifacts["target_poses"], target)
    rollout.artifacts["camera_sidecar"].write_text(json.dumps(declared))


def read(rollout, recipe=None):
    return (recipe or RequestedPoses()).read(rollout, TIMELINE, {})


def test_the_path_is_that_of_the_file_relative_to_its_first_pose(rollout):
    world = np.eye(4)
    world[:3, :3] = Rotation.from_euler("xyz", [10, 20, 30], degrees=True).as_matrix()
    world[:3, 3] = 4, 5, 6
    target = there_and_back(60)
    write(rollout, world @ target, yaw_peak_deg=60.0)
    feature = read(rollout)
    check_documented(RequestedPoses(), feature)
    assert Trajectory.from_feature(feature).camera_to_world == pytest.approx(target, abs=1e-5)
    assert feature.detail["requested_yaw_degrees"] == pytest.approx(60, abs=1e-3)


def test_a_path_of_fewer_poses_than_frames_keeps_its_own_frames(rollout):
    write(rollout, there_and_back(60, 21))
    trajectory = Trajectory.from_feature(read(rollout))
    assert (len(trajectory.frame_indices), trajectory.frame_count) == (21, 21)


def test_gains_are_undone_unless_the_published_target_is_wanted(rollout):
    write(rollout, there_and_back(180), rotation_gain=3.0, yaw_peak_deg=180.0)
    ours, theirs = (read(rollout, RequestedPoses(undo_gain=flag)) for flag in (True, False))
    assert ours["camera_to_world"] == pytest.approx(there_and_back(60), abs=1e-5)
    assert theirs["camera_to_world"] == pytest.approx(there_and_back(180), abs=1e-6)
    assert ours.detail["target_yaw_degrees"] == pytest.approx(180, abs=1e-3)


def test_a_gain_of_moves_is_undone_too():
    path = there_and_back(0).astype(np.float64)
    path[:, 0, 3] = np.linspace(0, 2, len(path))
    assert without_gain(path, 1.0, 4.0)[:, 0, 3] == pytest.approx(np.linspace(0, 0.5, len(path)))


@pytest.mark.parametrize("peak", [-170.0, -60.0, 2.0, 60.0, 180.0, 270.0])
def test_turns_are_measured_beyond_half_a_circle_and_about_axes_that_lean(peak):
    path = there_and_back(peak).astype(np.float64)
    assert peak_turn_degrees(path) == pytest.approx(peak, abs=1e-3)
    down = np.eye(4)
    down[:3, :3] = Rotation.from_euler("x", -20, degrees=True).as_matrix()
    assert peak_turn_degrees(np.linalg.inv(down) @ path @ down) == pytest.approx(peak, abs=1e-3)


def test_a_declared_amplitude_that_the_path_does_not_have_is_an_invalid_record(rollout):
    write(rollout, there_and_back(0), yaw_peak_deg=60.0)
    with pytest.raises(ArtifactError, match=r"declares a turn of 60 degrees, but the path turns by 0\.0") as caught:
        read(rollout)
    assert caught.value.reason is Reason.INVALID_RECORD


def test_the_amplitude_before_the_gain_may_be_declared(rollout):
    write(rollout, there_and_back(-180), rotation_gain=3.0, yaw_peak_deg=60.0)
    assert read(rollout).detail["requested_yaw_degrees"] == pytest.approx(-60, abs=1e-3)


def test_what_is_not_there_or_not_valid_is_declined(rollout):
    assert RequestedPoses().declines(rollout).reason is Reason.MISSING_INPUT
    write(rollout, there_and_back(60), rotation_gain=0.0)
    assert RequestedPoses().declines(rollout) is None
    with pytest.raises(ArtifactError, match="rotation_gain"):
        RequestedPath.read(rollout.artifacts["target_poses"], rollout.artifacts["camera_sidecar"])
    write(rollout, there_and_back(60)[:1])
    with pytest.raises(ArtifactError, match="a path has 2 poses or more"):
        read(rollout)
