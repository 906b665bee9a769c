from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Reason, Trajectory, UnknownName, Unmeasurable
from lookaway.metrics.camera_error import CameraRotationError, CameraTranslationError
from lookaway.perception.poses.commanded_poses import CommandedPoses
from tests.metrics.camera_paths import wandering
from tests.support.revisit_golden import arrays, rollout_of, timeline_of
from tests.support.room import trajectory

PATH = wandering(49)
LENS = np.tile(np.array([[900.0, 0, 640], [0, 900, 360], [0, 0, 1]]), (49, 1, 1))


def written(folder: Path, **changes) -> Path:
    arrays = {"c2w": PATH, "intrinsics": LENS, "fps": np.array(16), "num_frames": np.array(49), **changes}
    np.savez(folder / "path.npz", **{name: array for name, array in arrays.items() if array is not None})
    return folder / "path.npz"


def read(path: Path, frames: int = 49, fps: float = 16, **constants):
    rollout = rollout_of(artifacts={"commanded_poses": path})
    return CommandedPoses(**constants).read(rollout, timeline_of(frames, fps), {})


def test_a_path_is_read_as_it_was_stored(tmp_path):
    found = Trajectory.from_feature(read(written(tmp_path)))
    np.testing.assert_allclose(found.camera_to_world, PATH)
    assert found.frame_indices.tolist() == list(range(49))
    assert (found.width, found.height) == (64, 48)
    field = 2 * np.degrees(np.arctan(32 / found.intrinsics[0, 0, 0]))
    assert field == pytest.approx(2 * np.degrees(np.arctan(640 / 900)))


def test_frames_of_another_rate_have_the_pose_of_their_time(tmp_path):
    fast = Trajectory.from_feature(read(written(tmp_path), frames=73, fps=24))
    np.testing.assert_allclose(fast.camera_to_world[[0, 3, 72]], PATH[[0, 2, 48]])
    slow = Trajectory.from_feature(read(written(tmp_path), frames=25, fps=8))
    np.testing.assert_allclose(slow.camera_to_world, PATH[::2])


def test_by_index_frames_have_the_pose_of_their_number(tmp_path):
    found = Trajectory.from_feature(read(written(tmp_path), frames=73, fps=24, frame_map="index"))
    np.testing.assert_allclose(found.camera_to_world, PATH)


def test_frames_after_the_end_of_the_path_have_no_pose(tmp_path):
    assert Trajectory.from_feature(read(written(tmp_path), frames=60)).frame_indices.tolist() == list(range(49))


def test_a_correct_clip_of_another_rate_has_no_error_by_time_and_a_large_one_by_index(tmp_path):
    stored = written(tmp_path, c2w=arrays()["sana_gt_c2w"], intrinsics=None)
    estimated = trajectory(arrays()["sana_est_index_24fps"].astype(float), frame_indices=np.arange(0, 961, 4))
    errors = {}
    for frame_map in ("time", "index"):
        commanded = read(stored, frames=1441, fps=24, frame_map=frame_map)
        features = {"poses": estimated.to_feature(), "commanded_poses": commanded}
        for metric in (CameraRotationError(), CameraTranslationError()):
            errors[metric.name, frame_map] = metric.measure(rollout_of(), features).value
    assert errors["camera_rotation_error", "time"] < 0.01
    assert errors["camera_translation_error", "time"] < 0.001
    assert errors["camera_rotation_error", "index"] == pytest.approx(27.4, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"c2w": None}, Reason.INVALID_INPUT),
        ({"c2w": 2 * PATH}, Reason.INVALID_INPUT),
        ({"c2w": PATH * np.diag([1, 1, -1, 1])}, Reason.POSE_FAILED),
        ({"fps": np.array([0])}, Reason.INVALID_INPUT),
        ({"intrinsics": LENS[:3]}, Reason.INVALID_INPUT),
    ],
)
def test_a_file_that_holds_no_path_is_refused(tmp_path, changes, reason):
    with pytest.raises(Unmeasurable) as error:
        read(written(tmp_path, **changes))
    assert error.value.reason == reason


def test_pickled_objects_are_never_loaded(tmp_path):
    with pytest.raises(Unmeasurable, match="never loaded"):
        read(written(tmp_path, c2w=np.array([{"a": 1}], dtype=object)))


def test_a_rollout_without_a_path_is_declined(tmp_path):
    for rollout in (rollout_of(), rollout_of(artifacts={"commanded_poses": tmp_path / "none.npz"})):
        declined = CommandedPoses().declines(rollout)
        assert declined is not None
        assert declined.reason == Reason.MISSING_INPUT


def test_an_unknown_map_of_frames_is_refused():
    with pytest.raises(UnknownName):
        CommandedPoses(frame_map="frames")
