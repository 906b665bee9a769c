from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Reason, Trajectory, UnknownName
from lookaway.metrics.camera_controllability import CameraControllability, ReferenceTurned, RotationFollowed
from tests.support.golden import golden_numbers
from tests.support.published import published
from tests.support.watching import rollout_of

ROLLOUT = rollout_of(Path("clip.mp4"))
PAN = np.concatenate([np.linspace(0, 90, 40), np.linspace(90, 0, 41)])
U_TURN = np.linspace(0, 170, 81)
PUBLISHED = CameraControllability(rotation="net")


def path(degrees, *, frames=None, world=None):
    """The feature of a camera that turns by some angles, whatever the axes of its world."""
    matrices = np.tile(np.eye(4), (len(degrees), 1, 1))
    turns = np.outer(np.radians(degrees), [0.0, 1.0, 0.0])
    matrices[:, :3, :3] = Rotation.from_rotvec(turns).as_matrix()
    if world is not None:
        matrices[:, :3, :3] = world @ matrices[:, :3, :3]
    count = len(degrees)
    return Trajectory(
        camera_to_world=matrices,
        intrinsics=np.tile(np.eye(3), (count, 1, 1)),
        frame_indices=np.arange(count) if frames is None else np.asarray(frames),
        median_depth=np.ones(count),
        width=32,
        height=24,
        frame_count=count if frames is None else int(frames[-1]) + 1,
    ).to_feature()


def measured(estimated, reference, metric=None):
    features = {"poses": path(estimated), "reference_poses": path(reference)}
    return (metric or CameraControllability()).measure(ROLLOUT, features)


def test_published_numbers_are_those_of_the_official_code():
    golden = golden_numbers("memobench")["camera_controllability"]
    assert len(golden) == 8
    for name, expected in golden.items():
        true = PAN if name.startswith("pan") else U_TURN
        metric = published("memobench.camera_controllability").metric
        outcome = measured(float(name.rpartition("x")[2]) * true, true, metric)
        assert outcome.value == pytest.approx(expected["camera_controllability"], abs=1e-4)
        assert outcome.raw == outcome.detail["ate_rot_deg"] == pytest.approx(expected["ate_rot_deg"], abs=1e-3)
        assert outcome.detail["total_gt_rot_deg"] == pytest.approx(expected["total_gt_rotation_deg"], abs=1e-3)
        assert outcome.detail["mean_rot_error_deg"] == pytest.approx(expected["mean_rot_error_deg"], abs=1e-3)


def test_by_default_the_error_is_divided_by_the_path():
    outcome = measured(0.95 * PAN, PAN)
    assert outcome.detail["total_gt_rot_deg"] == pytest.approx(180)
    assert outcome.value == pytest.approx(1 - outcome.raw / 180)
    assert measured(0.95 * PAN, PAN, PUBLISHED).value < 0.75 < 0.98 < outcome.value


@pytest.mark.parametrize("scale", [0.0, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("true", [PAN, U_TURN])
def test_what_is_followed_is_the_scale_of_the_turns(scale, true):
    assert measured(scale * true, true, RotationFollowed()).value == pytest.approx(scale, abs=0.02)
    outcome = measured(scale * true, true)
    still = outcome.detail["still"]
    assert outcome.value == pytest.approx(still + scale * (1 - still), abs=0.02)


def test_a_camera_that_turns_too_far_follows_less_and_one_that_turns_the_other_way_not_at_all():
    assert measured(1.25 * PAN, PAN, RotationFollowed()).value == pytest.approx(0.75, abs=0.02)
    assert measured(-PAN, PAN, RotationFollowed()).value == 0


def test_the_axes_of_worlds_do_not_matter_for_what_is_followed():
    elsewhere = Rotation.from_euler("xyz", [30, 40, 50], degrees=True).as_matrix()
    features = {"poses": path(0.5 * PAN, world=elsewhere), "reference_poses": path(PAN)}
    assert RotationFollowed().measure(ROLLOUT, features).value == pytest.approx(0.5, abs=0.02)


def test_where_the_reference_hardly_turns_there_is_nothing_to_follow():
    assert measured(PAN, PAN / 20, RotationFollowed()).reason is Reason.NOT_APPLICABLE
    assert measured([0.0], PAN, RotationFollowed()).reason is Reason.TOO_SHORT
    with pytest.raises(ValueError, match="more than 0"):
        RotationFollowed(min_degrees=0)


def test_a_camera_that_follows_scores_1_and_the_axes_of_worlds_do_not_matter():
    elsewhere = Rotation.from_euler("xyz", [30, 40, 50], degrees=True).as_matrix()
    features = {"poses": path(PAN, world=elsewhere), "reference_poses": path(PAN)}
    assert CameraControllability().measure(ROLLOUT, features).value == pytest.approx(1)


def test_the_worst_camera_scores_0():
    assert measured(-2 * U_TURN[:40], U_TURN[:40]).value == 0


def test_a_reference_of_another_length_is_compared_at_the_same_part_of_the_video():
    assert measured(np.linspace(0, 90, 31), np.linspace(0, 90, 121)).value > 0.999


def test_frames_without_a_pose_do_not_count():
    frames = np.arange(0, 81, 8)
    features = {"poses": path(U_TURN[frames], frames=frames), "reference_poses": path(U_TURN)}
    outcome = CameraControllability().measure(ROLLOUT, features)
    assert (outcome.value, outcome.detail["frames"]) == (pytest.approx(1), len(frames))


def test_where_the_reference_hardly_turns_the_error_is_divided_by_the_floor():
    outcome = measured(np.linspace(0, 5, 20), np.zeros(20))
    assert outcome.value == pytest.approx(1 - outcome.raw / 10)


def test_one_pose_is_too_short_and_broken_poses_have_failed():
    assert measured([0.0], PAN).reason is Reason.TOO_SHORT
    broken = path(PAN)
    broken["camera_to_world"][3] = np.nan
    outcome = CameraControllability().measure(ROLLOUT, {"poses": broken, "reference_poses": path(PAN)})
    assert outcome.reason is Reason.POSE_FAILED


def test_constants_that_mean_nothing_are_refused():
    with pytest.raises(UnknownName, match="Did you mean"):
        CameraControllability(rotation="paths")
    with pytest.raises(ValueError, match="more than 0"):
        CameraControllability(floor_degrees=0)
    with pytest.raises(UnknownName):
        ReferenceTurned(rotation="whole")


# The published motion gate


@pytest.mark.parametrize(
    ("true", "by_path", "by_net"), [(PAN, 1.0, 0.0), (U_TURN, 1.0, 1.0), (U_TURN / 3, 0.0, 0.0), (PAN / 3, 0.0, 0.0)]
)
def test_the_published_gate_is_about_the_reference(true, by_path, by_net):
    features = {"reference_poses": path(true)}
    assert ReferenceTurned().measure(ROLLOUT, features).value == by_path
    assert ReferenceTurned(rotation="net").measure(ROLLOUT, features).value == by_net


def test_a_video_that_stands_still_passes_the_published_gate():
    still = {"reference_poses": path(PAN), "poses": path(np.zeros(81))}
    outcome = ReferenceTurned().measure(ROLLOUT, still)
    assert (outcome.value, outcome.raw) == (1.0, pytest.approx(180))


def test_a_reference_with_one_pose_is_too_short():
    assert ReferenceTurned().measure(ROLLOUT, {"reference_poses": path([0.0])}).reason is Reason.TOO_SHORT
