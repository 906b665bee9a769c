from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Abstention, Case, Feature, Reason, Rollout, Score, Trajectory
from lookaway.metrics.revisited import DID_NOT_RETURN, NEVER_LEFT, Revisited

WIDTH, HEIGHT, FRAMES = 832, 480, 40
ROLLOUT = Rollout(case=Case(id="case", subset="all", scene="scene"), model="model", video=Path("video.mp4"))


def there_and_back(largest: float, frames: int = FRAMES) -> np.ndarray:
    half = frames // 2
    return np.concatenate([np.linspace(0, largest, half), np.linspace(largest, 0, frames - half)])


def poses(turns: np.ndarray, centres: np.ndarray | None = None, fov: float = 60.0) -> Feature:
    camera_to_world = np.repeat(np.eye(4)[None], len(turns), axis=0)
    camera_to_world[:, :3, :3] = Rotation.from_euler("y", turns[:, None], degrees=True).as_matrix()
    if centres is not None:
        camera_to_world[:, :3, 3] = centres
    focal = WIDTH / 2 / np.tan(np.radians(fov / 2))
    lens = np.array([[focal, 0, WIDTH / 2], [0, focal, HEIGHT / 2], [0, 0, 1]])
    return Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=np.repeat(lens[None], len(turns), axis=0),
        frame_indices=np.arange(len(turns)),
        median_depth=np.ones(len(turns)),
        width=WIDTH,
        height=HEIGHT,
        frame_count=len(turns),
    ).to_feature()


def motion(path: np.ndarray, **changes: np.ndarray) -> Feature:
    """Motion of a picture whose middle is at these places to the right, in frame heights."""
    steps = len(path) - 1
    arrays = {
        "shift": np.stack([np.diff(path), np.zeros(steps)], axis=1).astype(np.float32),
        **{name: np.zeros(steps, np.float32) for name in ("zoom", "roll", "moving")},
        "trusted": np.ones(steps, np.float32),
        "frame_indices": 3 * np.arange(steps + 1),
        "size": np.array([WIDTH, HEIGHT]),
    }
    return Feature({**arrays, **changes})


def gate(**features: Feature) -> Score:
    outcome = Revisited().measure(ROLLOUT, features)
    assert isinstance(outcome, Score)
    return outcome


def why(score: Score) -> str | None:
    return score.detail["why"]


def test_a_camera_that_turns_away_and_back_tests_memory():
    found = gate(poses=poses(there_and_back(60)))
    assert (found.value, why(found), found.detail["source"]) == (1.0, None, "poses")
    assert found.raw > 90
    assert found.detail["turned_degrees"] == pytest.approx(60)
    assert found.detail["moved"] == 0
    assert found.detail["returned_frames"][-1] == FRAMES - 1


def test_a_camera_that_moves_aside_and_back_tests_memory():
    centres = np.stack([there_and_back(1.0), np.zeros(FRAMES), np.zeros(FRAMES)], axis=1)
    found = gate(poses=poses(np.zeros(FRAMES), centres))
    assert (found.value, found.detail["moved"]) == (1.0, pytest.approx(1.0))


def test_a_full_circle_comes_back():
    assert gate(poses=poses(np.linspace(0, 360, FRAMES))).value == 1.0


def test_a_camera_that_never_moves_tests_nothing():
    found = gate(poses=poses(np.zeros(FRAMES)))
    assert (found.value, found.raw, why(found)) == (0.0, 0.0, NEVER_LEFT)


def test_a_camera_that_only_sways_tests_nothing():
    found = gate(poses=poses(there_and_back(8)))
    assert (found.value, why(found)) == (0.0, NEVER_LEFT)
    assert 0 < found.raw < 20


def test_a_camera_that_does_not_return_tests_nothing():
    found = gate(poses=poses(np.linspace(0, 120, FRAMES)))
    assert (found.value, why(found)) == (0.0, DID_NOT_RETURN)


@pytest.mark.parametrize("frames", [12, 40, 300])
def test_how_many_frames_there_are_hardly_matters(frames):
    assert gate(poses=poses(there_and_back(60, frames))).raw == pytest.approx(95, abs=6)


def test_where_the_world_begins_and_which_way_it_faces_does_not_matter():
    turns = there_and_back(30)
    centres = np.tile([5.0, -2.0, 7.0], (FRAMES, 1))
    assert gate(poses=poses(turns + 77, centres)).raw == pytest.approx(gate(poses=poses(turns)).raw, abs=1e-6)


def test_poses_without_motion_of_the_picture_are_only_a_request():
    found = gate(poses=poses(there_and_back(60)), motion=motion(np.zeros(FRAMES)))
    assert (found.value, found.raw) == (0.0, 0.0)
    assert why(found) == "the poses turn 60 degrees but the picture does not move"


def test_poses_that_the_picture_follows_count():
    assert gate(poses=poses(there_and_back(60)), motion=motion(there_and_back(-2.0))).value == 1.0


@pytest.mark.parametrize(
    "unclear",
    [
        {"trusted": np.zeros(FRAMES - 1, np.float32)},
        {"zoom": np.diff(there_and_back(0.5)).astype(np.float32)},
        {"roll": np.diff(there_and_back(0.5)).astype(np.float32)},
    ],
)
def test_motion_that_is_no_shift_does_not_contradict_poses(unclear):
    assert gate(poses=poses(there_and_back(60)), motion=motion(np.zeros(FRAMES), **unclear)).value == 1.0


@pytest.mark.parametrize("degrees", [5, 8, 15, 25, 40, 60])
def test_without_poses_the_shift_of_the_picture_says_much_the_same(degrees):
    turns = there_and_back(degrees)
    # The mean shift of a picture that turns by a small angle is larger than that of its middle.
    across = np.tan(np.radians(30))
    focal = WIDTH / HEIGHT / 2 / across
    shift = -np.radians(turns) * focal * (1 + across**2 / 3)
    with_poses, without = gate(poses=poses(turns)), gate(motion=motion(shift))
    assert without.detail["source"] == "image motion"
    assert without.value == with_poses.value
    assert without.raw == pytest.approx(with_poses.raw, abs=6)


def test_a_step_that_cannot_be_matched_moves_as_those_around_it():
    path = there_and_back(1.0)
    lost = np.ones(FRAMES - 1, np.float32)
    lost[10] = 0
    broken = motion(path, trusted=lost)
    broken["shift"][10] = 0
    assert gate(motion=broken).raw == pytest.approx(gate(motion=motion(path)).raw, abs=1e-6)


def test_a_still_picture_without_poses_tests_nothing():
    found = gate(motion=motion(np.zeros(FRAMES)))
    assert (found.value, why(found)) == (0.0, NEVER_LEFT)


@pytest.mark.parametrize(
    ("path", "unclear", "said"),
    [
        (np.zeros(FRAMES), {"zoom": np.diff(there_and_back(0.5)).astype(np.float32)}, "grows or shrinks"),
        (np.zeros(FRAMES), {"roll": np.diff(there_and_back(0.5)).astype(np.float32)}, "rolls by"),
        (there_and_back(1.0), {"trusted": np.full(FRAMES - 1, 0.01, np.float32)}, "cannot be matched in 100 %"),
        (there_and_back(1.0), {"moving": np.full(FRAMES - 1, 0.8, np.float32)}, "moves against the rest"),
        (np.linspace(0, 8, FRAMES), {}, "full circle"),
    ],
)
def test_motion_that_cannot_be_followed_is_not_guessed_from(path, unclear, said):
    outcome = Revisited().measure(ROLLOUT, {"motion": motion(path, **unclear)})
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.POSE_FAILED
    assert said in outcome.message


def test_two_poses_are_too_few_to_leave_and_return():
    outcome = Revisited().measure(ROLLOUT, {"poses": poses(np.array([0.0, 60.0]))})
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.POSE_FAILED
