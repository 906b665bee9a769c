from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import Abstention, Reason, Score, UnknownName, Unmeasurable, UserError, describe
from lookaway.metrics.pose_alignment import align
from lookaway.metrics.relative_pose import RelativeRotationError, RelativeTranslationError, StepErrors, turned_degrees
from tests.metrics.camera_paths import NOISY, TRUE, compare, drifting, placed, still, wandering
from tests.metrics.two_view_scenes import elsewhere
from tests.support.golden import golden_arrays, golden_numbers
from tests.support.published import published

both = pytest.mark.parametrize("metric", [RelativeTranslationError, RelativeRotationError])
every_alignment = pytest.mark.parametrize("alignment", ["sim3", "se3", "none"])


def step_lengths(path):
    return np.linalg.norm(np.diff(path[:, :3, 3], axis=0), axis=1)


def step_degrees(path):
    turns = Rotation.from_matrix(path[:, :3, :3])
    return np.degrees((turns[:-1].inv() * turns[1:]).magnitude())


# Parity


def test_every_step_has_the_errors_that_the_official_code_gives():
    expected = golden_numbers("mind")
    arrays = golden_arrays("mind")
    estimated, true = arrays["poses_est_c2w"], arrays["poses_gt_c2w"]
    translation = compare(published("mind.action.rpe_trans").metric, estimated, true)
    rotation = compare(published("mind.action.rpe_rot").metric, estimated, true)
    assert len(translation.units) == len(rotation.units) == 96
    values = [unit.outcome.value for unit in translation.units]
    np.testing.assert_allclose(values, expected["rpe_translation"], atol=1e-12, rtol=0)
    degrees = [unit.outcome.value for unit in rotation.units]
    np.testing.assert_allclose(degrees, expected["rpe_rotation_deg"], atol=1e-9, rtol=0)
    assert translation.value == pytest.approx(np.mean(expected["rpe_translation"]), abs=1e-12)
    assert rotation.detail["median"] == pytest.approx(np.median(expected["rpe_rotation_deg"]), abs=1e-9)
    assert translation.detail["scale"] == pytest.approx(expected["sim3"]["scale"], rel=1e-12)


def test_the_definition_with_plain_inverses_gives_the_same():
    inverse = np.linalg.inv
    errors = StepErrors.of(NOISY, TRUE)
    for step in (0, 17, 95):
        wanted = inverse(TRUE[step]) @ TRUE[step + 1]
        error = inverse(wanted) @ inverse(NOISY[step]) @ NOISY[step + 1]
        assert errors.translations[step] == pytest.approx(np.linalg.norm(error[:3, 3]), rel=1e-9)
        cosine = (np.trace(error[:3, :3]) - 1) / 2
        assert errors.degrees[step] == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-6)


# Angles


@pytest.mark.parametrize("degrees", [1e-12, 1e-7, 1e-3, 1, 89.9, 90, 179, 179.9999, 180 - 1e-9, 180])
def test_an_angle_is_exact_however_small_or_large(degrees):
    axes = np.random.default_rng(0).normal(size=(20, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    found = turned_degrees(Rotation.from_rotvec(np.radians(degrees) * axes).as_matrix())
    np.testing.assert_allclose(found, degrees, rtol=1e-9, atol=1e-13)


def test_it_agrees_with_the_arccosine_of_the_trace_where_that_has_digits():
    degrees = np.linspace(0.001, 179.999, 4001)
    matrices = Rotation.from_rotvec(np.radians(degrees)[:, None] * [0.48, -0.6, 0.64]).as_matrix()
    arccosines = np.degrees(np.arccos(np.clip((np.trace(matrices, axis1=1, axis2=2) - 1) / 2, -1, 1)))
    np.testing.assert_allclose(turned_degrees(matrices), arccosines, atol=1e-4, rtol=0)


def test_the_arccosine_of_the_trace_cannot_tell_a_tiny_angle():
    matrix = Rotation.from_rotvec([0, np.radians(1e-7), 0]).as_matrix()
    assert np.degrees(np.arccos(np.clip((np.trace(matrix) - 1) / 2, -1, 1))) == 0
    assert turned_degrees(matrix[None])[0] == pytest.approx(1e-7, rel=1e-12)


# Best, worst and what must not matter


@both
@every_alignment
def test_the_true_path_has_no_error(metric, alignment):
    outcome = compare(metric(alignment=alignment), TRUE)
    assert outcome.value < 1e-9
    assert outcome.detail["scale"] == pytest.approx(1)


@both
@pytest.mark.parametrize("scale", [0.01, 1, 300])
def test_where_the_estimate_s_world_begins_and_how_long_its_metre_is_do_not_matter(metric, scale):
    plain, moved = (compare(metric(), path) for path in (NOISY, elsewhere(NOISY, scale=scale)))
    assert moved.value == pytest.approx(plain.value, rel=1e-6)
    assert moved.detail["scale"] == pytest.approx(plain.detail["scale"] / scale, rel=1e-6)


@both
@every_alignment
def test_a_world_that_is_turned_and_moved_does_not_matter_whatever_is_fitted(metric, alignment):
    metric = metric(alignment=alignment)
    assert compare(metric, elsewhere(NOISY, scale=1)).value == pytest.approx(compare(metric, NOISY).value, rel=1e-9)


@every_alignment
def test_no_alignment_changes_an_angle(alignment):
    plain = compare(RelativeRotationError(alignment="none"), NOISY)
    found = compare(RelativeRotationError(alignment=alignment), NOISY)
    errors = [[unit.outcome.value for unit in outcome.units] for outcome in (found, plain)]
    np.testing.assert_allclose(*errors, rtol=1e-9)


def test_the_unit_of_length_is_forgiven_by_sim3_alone():
    larger = elsewhere(TRUE, scale=2)
    values = {name: compare(RelativeTranslationError(alignment=name), larger).value for name in ("sim3", "se3", "none")}
    assert values["sim3"] < 1e-9
    assert values["se3"] == pytest.approx(step_lengths(TRUE).mean())
    assert values["none"] == pytest.approx(step_lengths(TRUE).mean())


@every_alignment
@pytest.mark.parametrize("degrees", [1e-4, 0.5, 3.0, 40.0])
def test_a_bias_of_some_degrees_a_step_is_an_error_of_as_many_degrees(degrees, alignment):
    outcome = compare(RelativeRotationError(alignment=alignment), drifting(TRUE, degrees))
    assert outcome.value == pytest.approx(degrees, rel=1e-6)
    assert outcome.detail["median"] == pytest.approx(degrees, rel=1e-6)


@pytest.mark.parametrize("shift", [0.01, 2.0])
def test_a_bias_in_length_is_an_error_of_that_length(shift):
    steps = np.linalg.inv(TRUE[:-1]) @ TRUE[1:]
    steps[:, :3, 3] += shift * np.array([0.6, 0, 0.8])
    path = [TRUE[0]]
    for step in steps:
        path.append(path[-1] @ step)
    outcome = compare(RelativeTranslationError(alignment="se3"), np.array(path))
    assert outcome.value == pytest.approx(shift, rel=1e-9)


def test_a_camera_that_stands_still_is_off_by_the_true_steps_and_no_more():
    translation, rotation = (compare(metric(), still()) for metric in (RelativeTranslationError, RelativeRotationError))
    assert translation.detail["scale"] == pytest.approx(0, abs=1e-9)
    assert translation.value == pytest.approx(step_lengths(TRUE).mean())
    assert rotation.value == pytest.approx(step_degrees(TRUE).mean())


def test_a_true_camera_that_stands_still_hides_every_motion_from_sim3_alone():
    values = {name: compare(RelativeTranslationError(alignment=name), TRUE, still()).value for name in ("sim3", "se3")}
    assert values["sim3"] < 1e-9
    assert values["se3"] == pytest.approx(step_lengths(TRUE).mean())


@both
@every_alignment
def test_a_path_on_a_line_leaves_nothing_of_the_error_open(metric, alignment):
    line = placed(np.linspace(0, 1, 97)[:, None] ** 2 * np.array([0.0, 0.0, 3.0]))
    plain = compare(metric(alignment=alignment), line)
    turned = compare(metric(alignment=alignment), elsewhere(line, scale=1))
    assert turned.value == pytest.approx(plain.value, rel=1e-9)
    assert plain.value > 0.01


def test_the_opposite_motion_is_off_by_twice_the_motion():
    there, back = (placed(np.arange(30)[:, None] * [sign * 0.1, 0, 0]) for sign in (1, -1))
    assert compare(RelativeTranslationError(alignment="none"), back, there).value == pytest.approx(0.2)


@pytest.mark.parametrize(("degrees", "error"), [(2, 4), (89, 178)])
def test_the_opposite_turn_is_off_by_twice_the_turn(degrees, error):
    left, right = still(30), still(30)
    left[:, :3, :3] = Rotation.from_euler("y", np.arange(30)[:, None] * degrees, degrees=True).as_matrix()
    right[:, :3, :3] = left[:, :3, :3].transpose(0, 2, 1)
    assert compare(RelativeRotationError(), right, left).value == pytest.approx(error)


@both
def test_the_wrong_step_is_the_one_that_is_told(metric):
    wrong = TRUE.copy()
    wrong[40:] = wrong[40:] @ drifting(TRUE, 25)[1]
    units = compare(metric(alignment="none"), wrong).units
    errors = {unit.name: unit.outcome.value for unit in units}
    assert list(errors) == [f"f{step}" for step in range(96)]
    assert max(errors, key=errors.get) == "f39"


# Which steps count


@both
def test_only_the_first_frames_count_and_all_where_none_are_named(metric):
    longer, wrong = wandering(150), wandering(150)
    wrong[97:] = drifting(wandering(150), 5)[97:]
    assert compare(metric(), wrong, longer).value < 1e-9
    whole = compare(metric(max_frames=None), wrong, longer)
    assert whole.detail["count"] == whole.detail["steps"] == 149
    assert whole.value > 1e-3
    assert compare(metric(max_frames=20), wrong, longer).detail["count"] == 19


@both
def test_frames_beyond_those_that_count_do_not_move_the_fit(metric):
    longer = wandering(150)
    cut = compare(metric(), NOISY, longer[:97])
    whole = compare(metric(), np.concatenate([NOISY, longer[97:]]), longer)
    assert (cut.detail["video_frames"], whole.detail["video_frames"]) == (97, 150)
    assert replace(whole, detail={**whole.detail, "video_frames": 97}) == cut


@both
@pytest.mark.parametrize(
    ("ours", "theirs", "controls", "steps"), [(50, 97, 96, 49), (97, 60, 96, 59), (97, 97, 31, 31)]
)
def test_there_are_as_many_steps_as_the_shortest_of_poses_and_controls_has(metric, ours, theirs, controls, steps):
    outcome = compare(metric(), NOISY[:ours], TRUE[:theirs], controls=["forward"] * controls)
    assert outcome.detail["count"] == outcome.detail["steps"] == len(outcome.units) == steps
    assert outcome.detail["groups"]["act:forward"]["count"] == steps


@both
def test_more_controls_than_steps_do_no_harm(metric):
    plain = compare(metric(), NOISY, controls=["forward"] * 96)
    assert compare(metric(), NOISY, controls=["forward"] * 400) == plain


@both
def test_a_step_counts_where_both_cameras_have_poses_of_both_its_frames(metric):
    ours, theirs = np.delete(np.arange(97), [10, 50]), np.delete(np.arange(97), [11, 80])
    outcome = compare(
        metric(),
        NOISY[ours],
        TRUE[theirs],
        timing={"frame_indices": ours, "frame_count": 97},
        true_timing={"frame_indices": theirs, "frame_count": 97},
    )
    missing = {9, 10, 11, 49, 50, 79, 80}
    assert [unit.name for unit in outcome.units] == [f"f{step}" for step in range(96) if step not in missing]
    assert (outcome.detail["count"], outcome.detail["steps"]) == (96 - len(missing), 96)
    every = {unit.name: unit.outcome.value for unit in compare(metric(alignment="none"), NOISY).units}
    plain = compare(metric(alignment="none"), NOISY[ours], timing={"frame_indices": ours, "frame_count": 97})
    assert {unit.name: unit.outcome.value for unit in plain.units}.items() <= every.items()


@both
def test_controls_stay_with_their_frames_where_poses_are_missing(metric):
    kept = np.delete(np.arange(97), 5)
    controls = ["forward"] * 6 + ["look_left"] * 90
    outcome = compare(metric(), NOISY[kept], controls=controls, timing={"frame_indices": kept, "frame_count": 97})
    assert outcome.detail["groups"]["act:forward"]["count"] == 4
    assert outcome.detail["groups"]["act:look_left"]["count"] == 90


@both
def test_outliers_are_told_and_left_out(metric):
    wrong = TRUE.copy()
    wrong[30:] = wrong[30:] @ drifting(TRUE, 100)[1]
    plain = compare(metric(alignment="none"), wrong)
    outcome = compare(metric(alignment="none", max_rotation_degrees=50), wrong)
    assert (plain.detail["count"], outcome.detail["count"]) == (96, 95)
    assert outcome.value < plain.value
    left_out = {unit.name: unit.outcome.reason for unit in outcome.units if isinstance(unit.outcome, Abstention)}
    assert left_out == {"f29": Reason.POSE_FAILED}


@both
def test_a_length_beyond_any_is_an_outlier_too(metric):
    wrong = TRUE.copy()
    wrong[30:, :3, 3] += 50
    outcome = compare(metric(alignment="none", max_translation=10), wrong)
    assert outcome.detail["count"] == outcome.detail["groups"]["__overall__"]["count"] == 95
    assert outcome.value < 1e-9


@both
def test_a_turn_at_the_limit_is_kept(metric):
    turned = still(20)
    turned[1::2, :3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    assert compare(metric(alignment="none", max_rotation_degrees=90.0), turned, still(20)).detail["count"] == 19
    assert isinstance(compare(metric(alignment="none", max_rotation_degrees=89.9), turned, still(20)), Abstention)


@both
def test_a_length_at_the_limit_is_kept(metric):
    true, longer = placed(np.arange(20)[:, None] * np.eye(3)[0]), placed(2.0 * np.arange(20)[:, None] * np.eye(3)[0])
    assert compare(metric(alignment="none", max_translation=1.0), longer, true).detail["count"] == 19
    assert isinstance(compare(metric(alignment="none", max_translation=0.999), longer, true), Abstention)


# What must be declined


@both
@pytest.mark.parametrize(("frames", "kind"), [(8, Abstention), (9, Score)])
def test_seven_steps_are_too_few_and_eight_are_enough(metric, frames, kind):
    outcome = compare(metric(), NOISY[:frames], TRUE[:frames])
    assert isinstance(outcome, kind)
    if kind is Abstention:
        assert outcome.reason is Reason.TOO_SHORT
        assert outcome.message == "7 steps to compare, at least 8 needed."


@both
@pytest.mark.parametrize("stated", [0, 7])
def test_controls_that_end_too_soon_leave_too_few_steps_and_are_told(metric, stated):
    outcome = compare(metric(), NOISY, controls=["forward"] * stated)
    assert outcome.reason is Reason.TOO_SHORT
    assert outcome.message == f"{stated} steps to compare, at least 8 needed. What is steered is stated for no more."


@both
def test_controls_that_nobody_stated_leave_every_step_and_no_group(metric):
    outcome = compare(metric(), NOISY)
    assert (outcome.detail["count"], list(outcome.detail["groups"])) == (96, ["__overall__"])


@both
def test_a_single_frame_has_no_step(metric):
    assert compare(metric(), NOISY[:1], TRUE).message.startswith("0 steps")


@both
def test_few_steps_left_without_outliers_are_too_few(metric):
    outcome = compare(metric(max_rotation_degrees=1.0), drifting(TRUE, 30))
    assert (outcome.reason, len(outcome.units)) == (Reason.TOO_SHORT, 96)
    assert outcome.message.startswith("0 of 96 steps are within 1 degrees")


@both
@pytest.mark.parametrize(("wrong", "kind"), [(12, Score), (13, Abstention)])
def test_outliers_may_leave_eight_of_twenty_steps_but_not_seven(metric, wrong, kind):
    path = still(21)
    path[:wrong, :3, 3] += 50 * np.arange(wrong, 0, -1)[:, None]
    outcome = compare(metric(alignment="none", max_translation=10), path, still(21))
    assert isinstance(outcome, kind)
    assert sum(isinstance(unit.outcome, Score) for unit in outcome.units) == 20 - wrong


@both
def test_poses_of_some_frames_alone_show_no_steps(metric):
    every_other = np.arange(0, 97, 2)
    timing = {"frame_indices": every_other, "frame_count": 97}
    for outcome in (
        compare(metric(), NOISY[every_other], timing=timing),
        compare(metric(), NOISY, TRUE[every_other], true_timing=timing),
    ):
        assert outcome.reason is Reason.MISSING_INPUT
        assert outcome.message.startswith("0 of 96 steps have poses of both cameras")


@both
def test_poses_of_different_frames_cannot_be_compared(metric):
    timing = {"frame_indices": np.arange(50, 97), "frame_count": 97}
    outcome = compare(metric(), NOISY[50:], TRUE[:40], timing=timing, true_timing={"frame_count": 97})
    assert outcome.reason is Reason.MISSING_INPUT


@both
def test_poses_that_are_no_numbers_have_failed(metric):
    broken = NOISY.copy()
    broken[3, 0, 3] = np.nan
    with pytest.raises(Unmeasurable) as caught:
        compare(metric(), broken)
    assert caught.value.reason is Reason.POSE_FAILED


@both
def test_a_recipe_that_makes_no_sense_is_refused(metric):
    with pytest.raises(UnknownName, match="Did you mean 'sim3'"):
        metric(alignment="sim")
    with pytest.raises(UserError, match="at least 1 step"):
        metric(min_steps=0)
    with pytest.raises(UserError, match="needs 2 frames"):
        metric(max_frames=1)
    assert compare(metric(max_frames=2, min_steps=1), NOISY).detail["count"] == 1


# As a metric


@both
def test_its_constants_are_in_the_lock(metric):
    assert describe(metric()) == {
        "kind": metric.name,
        "version": 1,
        "alignment": "sim3",
        "max_frames": 97,
        "max_rotation_degrees": 179.0,
        "max_translation": 1e9,
        "min_steps": 8,
        "published_groups": False,
        "needs_whole_reference": False,
        "STILL_VARIANCE": 1e-12,
    }
    assert (metric.higher_is_better, metric.needs) == (False, ("poses", "reference_poses"))


def test_the_fit_is_that_of_the_frames_both_have():
    outcome = compare(RelativeTranslationError(), NOISY)
    assert outcome.detail["scale"] == align(NOISY[:, :3, 3], TRUE[:, :3, 3], "sim3").scale
    assert outcome.detail["scale"] == pytest.approx(1 / 2.5, rel=0.5)
