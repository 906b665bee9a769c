from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Feature, Reason, Trajectory
from lookaway.core.trajectory import EXTENT_AS_DEPTH
from lookaway.metrics.requested_camera import (
    RequestedCameraAlignment,
    RequestedCameraPrecision,
    RequestedPathPrecision,
    resampled,
)
from tests.support.watching import rollout_of

FRAMES = 81
PUBLISHED = {
    "precision": RequestedPathPrecision(),
    "alignment": RequestedCameraAlignment(full_at_request=False, moves_in_depths=False),
}
REPAIRED = {"precision": RequestedCameraPrecision(), "alignment": RequestedCameraAlignment()}


def there_and_back(degrees, frames=FRAMES):
    """To the left and back; both legs have both ends, so that the peak is on two frames."""
    out = frames // 2
    return -np.concatenate([np.linspace(0, degrees, out), np.linspace(degrees, 0, frames - out)])


def path(degrees, *, centres=None, world=None, frames=None, depth=1.0, detail=None):
    count = len(degrees)
    matrices = np.tile(np.eye(4), (count, 1, 1))
    matrices[:, :3, :3] = Rotation.from_rotvec(np.outer(np.radians(degrees), [0.0, 1.0, 0.0])).as_matrix()
    if centres is not None:
        matrices[:, :3, 3] = centres
    if world is not None:
        matrices = world @ matrices
    found = Trajectory(
        camera_to_world=matrices,
        intrinsics=np.tile(np.eye(3), (count, 1, 1)),
        frame_indices=np.arange(count) if frames is None else np.asarray(frames),
        median_depth=np.full(count, depth),
        width=32,
        height=24,
        frame_count=count if frames is None else FRAMES,
    ).to_feature()
    return Feature(found.arrays, detail or {})


REQUEST = path(there_and_back(60))
STILL = path(np.zeros(FRAMES))


def asked(action="left_then_right"):
    rollout = rollout_of(Path("clip.mp4"))
    return replace(rollout, case=replace(rollout.case, action=action))


def measured(metric, poses, request=REQUEST, action="left_then_right"):
    features = {"poses": poses} if request is None else {"poses": poses, "requested_poses": request}
    return metric.measure(asked(action), features)


def sideways(metres, frames=FRAMES):
    return np.outer(there_and_back(metres, frames), [1.0, 0.0, 0.0])


# The table that the official code gives for a request of 60 degrees

TABLE = {
    60: (0.999795, 1),
    45: (0.846477, 1),
    30: (0.716531, 1),
    15: (0.606528, 0.464286),
    10: (0.573750, 0.285714),
    5: (0.542747, 0.107143),
    2.1: (0.525536, 0.003571),
    1.9: (0, 0),
    90: (0.716531, 1),
    120: (0.513417, 1),
    -60: (0, 0),
}


@pytest.mark.parametrize("peak", TABLE)
def test_published_numbers_are_those_of_the_official_code(peak):
    for name, expected in zip(PUBLISHED, TABLE[peak], strict=True):
        assert measured(PUBLISHED[name], path(there_and_back(peak))).value == pytest.approx(expected, abs=1e-3)


def test_published_numbers_of_a_camera_that_never_returns_are_those_of_the_official_code():
    one_way = path(-np.linspace(0, 60, FRAMES))
    assert measured(PUBLISHED["precision"], one_way).value == pytest.approx(0.634096, abs=1e-3)
    assert measured(PUBLISHED["alignment"], one_way).value == 1


def test_the_published_formula_sees_no_drift_and_scores_no_other_length():
    drifting = path(there_and_back(60), centres=np.outer(np.linspace(0, 5, FRAMES), [1.0, 0.0, 0.0]))
    assert measured(PUBLISHED["precision"], drifting).value == pytest.approx(1, abs=1e-3)
    outcome = measured(PUBLISHED["precision"], path(there_and_back(60, 121)))
    assert outcome.reason is Reason.INVALID_INPUT
    assert outcome.message == "length_mismatch: the target has 81 poses, the video 121 frames."


@pytest.mark.parametrize(("turn", "move", "value"), [(1.9, 0.04, 1), (2.1, 0.04, 0), (1.9, 0.06, 0)])
def test_by_the_published_formula_a_camera_that_should_hold_scores_1_or_0(turn, move, value):
    poses = path(there_and_back(turn), centres=sideways(move))
    assert measured(PUBLISHED["precision"], poses, STILL, "static").value == value


@pytest.mark.parametrize(("move", "value"), [(-0.5, 0), (0.25, 1), (0.00005, 0)])
def test_by_the_published_formula_a_sideways_camera_is_scored_up_to_its_scale(move, value):
    request = path(np.zeros(FRAMES), centres=sideways(0.5))
    poses = path(np.zeros(FRAMES), centres=sideways(move))
    outcome = measured(PUBLISHED["precision"], poses, request, "pan_left_then_right")
    assert outcome.value == pytest.approx(value, abs=1e-6)


# Repaired


def test_a_camera_that_follows_scores_1_whatever_the_axes_of_its_world():
    world = np.eye(4)
    world[:3, :3] = Rotation.from_euler("xyz", [30, 40, 50], degrees=True).as_matrix()
    world[:3, 3] = 1, 2, 3
    for metric in REPAIRED.values():
        assert measured(metric, path(there_and_back(60), world=world)).value == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("peak", [0, 15, 30, 45])
def test_precision_is_the_share_of_the_turn(peak):
    assert measured(REPAIRED["precision"], path(there_and_back(peak))).value == pytest.approx(peak / 60, abs=1e-6)


def test_two_of_sixty_degrees_score_below_a_tenth():
    for metric in REPAIRED.values():
        assert measured(metric, path(there_and_back(2.1))).value < 0.1


def test_the_other_way_and_no_way_at_all_score_0():
    for poses in (path(there_and_back(-60)), STILL):
        for metric in REPAIRED.values():
            assert measured(metric, poses).value == 0
    assert measured(REPAIRED["alignment"], path(there_and_back(-60))).detail["status"] == "direction_mismatch"
    assert measured(REPAIRED["alignment"], STILL).detail["status"] == "weak_motion"


def test_a_camera_that_turns_too_far_or_does_not_return_is_aligned_but_not_precise():
    for degrees in (there_and_back(90), -np.linspace(0, 60, FRAMES)):
        assert measured(REPAIRED["alignment"], path(degrees)).value == 1
        assert measured(REPAIRED["precision"], path(degrees)).value < 0.6


def test_drift_costs_more_the_nearer_the_scene_is():
    centres = np.outer(np.linspace(0, 5, FRAMES), [1.0, 0.0, 0.0])
    near, far = (path(there_and_back(60), centres=centres, depth=depth) for depth in (1.0, 100.0))
    assert measured(REPAIRED["precision"], near).value < 0.1
    assert 0.95 < measured(REPAIRED["precision"], far).value < 1


def test_without_depth_drift_counts_in_the_unit_of_the_poses():
    centres = np.outer(np.linspace(0, 1e-4, FRAMES), [1.0, 0.0, 0.0])
    poses = path(there_and_back(60), centres=centres, depth=1e-4, detail={"median_depth": EXTENT_AS_DEPTH})
    assert measured(REPAIRED["precision"], poses).value > 0.999


@pytest.mark.parametrize("frames", [21, 65, 121])
def test_a_clip_of_another_length_is_compared_at_the_same_part_of_the_path(frames):
    outcome = measured(REPAIRED["precision"], path(there_and_back(60, frames)))
    assert outcome.value > 0.94
    assert outcome.detail["frames"] == frames


def test_frames_without_a_pose_do_not_count():
    frames = np.arange(0, FRAMES, 8)
    poses = path(there_and_back(60)[frames], frames=frames)
    assert measured(REPAIRED["precision"], poses).value == pytest.approx(1, abs=1e-6)


def test_rotations_between_poses_stay_rotations():
    half = resampled(np.array(REQUEST["camera_to_world"])[[0, 39]], np.linspace(0, 1, 7))
    assert np.linalg.det(half[:, :3, :3]) == pytest.approx(np.ones(7))
    assert np.degrees(np.arccos(half[3, 0, 0])) == pytest.approx(30)


def test_a_sideways_request_is_followed_by_moves_and_not_by_turns():
    request = path(np.zeros(FRAMES), centres=sideways(0.5))
    moved = path(np.zeros(FRAMES), centres=sideways(2.0))
    assert measured(REPAIRED["precision"], moved, request, "pan_left_then_right").value == pytest.approx(1, abs=1e-6)
    assert measured(REPAIRED["precision"], STILL, request, "pan_left_then_right").value == pytest.approx(0, abs=1e-6)
    turned = path(there_and_back(45), centres=sideways(2.0))
    assert measured(REPAIRED["precision"], turned, request, "pan_left_then_right").value < 0.7


def test_alignment_without_a_path_is_full_at_the_turn_that_the_case_names_unless_told_otherwise():
    case = replace(asked().case, turn_degrees=60.0)
    rollout, features = replace(asked(), case=case), {"poses": path(there_and_back(30))}
    assert REPAIRED["alignment"].measure(rollout, features).value == pytest.approx(28 / 58)
    assert PUBLISHED["alignment"].measure(rollout, features).value == pytest.approx(1)


def test_alignment_without_a_requested_path_is_full_at_30_degrees():
    assert measured(REPAIRED["alignment"], path(there_and_back(30)), request=None).value == pytest.approx(1)
    assert measured(REPAIRED["alignment"], path(there_and_back(30))).value == pytest.approx(28 / 58)


@pytest.mark.parametrize(("turn", "move", "value"), [(0, 0, 1), (1, 0, 0.8), (0, 0.05, 0.5), (9, 0, 0)])
def test_how_well_a_camera_holds_is_its_larger_fault(turn, move, value):
    poses = path(there_and_back(turn), centres=sideways(move))
    assert measured(REPAIRED["alignment"], poses, STILL, "static").value == pytest.approx(value, abs=1e-6)


# What is declined


def test_precision_leaves_requests_that_stand_still_to_alignment():
    assert measured(REPAIRED["precision"], STILL, STILL, "static").reason is Reason.NOT_APPLICABLE


def test_too_few_poses_and_cameras_that_are_not_finite_are_declined():
    broken = path(there_and_back(60))
    broken["camera_to_world"][3] = np.nan
    for metric in (*REPAIRED.values(), *PUBLISHED.values()):
        assert measured(metric, path([0.0])).reason is Reason.TOO_SHORT
        assert measured(metric, broken).reason is Reason.POSE_FAILED


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (None, Reason.MISSING_INPUT),
        ("pan_left_then_right", Reason.NOT_APPLICABLE),
        ("forward_then_backward", Reason.NOT_APPLICABLE),
    ],
)
def test_alignment_declines_actions_that_do_not_turn_to_a_side(action, reason):
    assert REPAIRED["alignment"].declines(asked(action)).reason is reason


@pytest.mark.parametrize(("action", "reason"), [(None, Reason.MISSING_INPUT), ("forward", Reason.NOT_APPLICABLE)])
def test_the_published_precision_declines_actions_that_wrbench_does_not_have(action, reason):
    assert PUBLISHED["precision"].declines(asked(action)).reason is reason
    assert PUBLISHED["precision"].declines(asked("pan_left_then_right")) is None


@pytest.mark.parametrize("action", ["left_then_right", "right_then_left", "static"])
def test_alignment_knows_the_actions_of_the_suite(action):
    assert REPAIRED["alignment"].declines(asked(action)) is None


def test_scales_must_be_positive():
    with pytest.raises(ValueError, match="more than 0"):
        RequestedCameraPrecision(translation_scale=0)
    with pytest.raises(ValueError, match="larger than the least"):
        RequestedCameraAlignment(full_yaw_degrees=1)
