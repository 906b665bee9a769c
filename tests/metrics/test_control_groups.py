from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from lookaway.metrics.relative_pose import RelativeRotationError, RelativeTranslationError, kind_of_control
from tests.metrics.camera_paths import NOISY, TRUE, compare, drifting, still

CONTROLS = ("forward", "look_left", "forward+look_left", "no_op", "left+backward", "look_up+look_right", "cam_left")
both = pytest.mark.parametrize("metric", [RelativeTranslationError, RelativeRotationError])


@pytest.mark.parametrize(
    ("control", "kind", "published"),
    [
        ("forward", "translation", "translation"),
        ("forward+left", "translation", "other"),
        ("backward+right", "translation", "other"),
        ("look_left", "rotation", "other"),
        ("look_up+look_right", "rotation", "other"),
        ("cam_left", "rotation", "rotation"),
        ("yaw_right+pitch_up", "rotation", "other"),
        ("pitch_down", "rotation", "rotation"),
        ("yaw_down", "rotation", "other"),
        ("w", "other", "translation"),
        ("Left", "other", "translation"),
        ("cam_left+look_up", "rotation", "other"),
        ("forward+look_left", "other", "other"),
        ("left+cam_left", "other", "other"),
        ("no_op", "other", "other"),
        ("outlook_left", "other", "other"),
        ("forwards", "other", "other"),
        ("", "other", "other"),
    ],
)
def test_a_control_is_of_the_kind_of_all_its_parts_and_published_groups_know_single_names_alone(
    control, kind, published
):
    assert kind_of_control(control) == kind
    groups = compare(RelativeRotationError(published_groups=True), NOISY, controls=[control] * 96).detail["groups"]
    assert list(groups) == ["__overall__", published, f"act:{control}"]


@both
def test_groups_hold_the_steps_of_their_controls(metric):
    controls = [CONTROLS[step % len(CONTROLS)] for step in range(96)]
    outcome = compare(metric(), NOISY, controls=controls)
    groups, values = outcome.detail["groups"], [unit.outcome.value for unit in outcome.units]
    together = {"__overall__", "translation", "rotation", "other"}
    assert groups.keys() == together | {f"act:{control}" for control in CONTROLS}
    for control, count in Counter(controls).items():
        own = [value for value, label in zip(values, controls, strict=True) if label == control]
        group = groups[f"act:{control}"]
        assert group == {"count": count, "mean": pytest.approx(np.mean(own)), "median": pytest.approx(np.median(own))}
    kinds = {kind: [c for c in CONTROLS if kind_of_control(c) == kind] for kind in ("translation", "rotation", "other")}
    for kind, members in kinds.items():
        assert groups[kind]["count"] == sum(groups[f"act:{control}"]["count"] for control in members)
    assert groups["__overall__"]["count"] == 96
    assert groups["__overall__"]["mean"] == outcome.value


@both
def test_published_groups_never_count_a_look_as_a_turn(metric):
    controls = ["forward"] * 24 + ["look_left"] * 36 + ["no_op"] * 12 + ["forward+look_left"] * 24
    published = compare(metric(published_groups=True), NOISY, controls=controls).detail["groups"]
    ours = compare(metric(), NOISY, controls=controls).detail["groups"]
    counts = {name: group["count"] for name, group in published.items() if not name.startswith("act:")}
    assert counts == {"__overall__": 96, "translation": 24, "other": 72}
    assert {name: ours[name]["count"] for name in ("translation", "rotation", "other")} == {
        "translation": 24,
        "rotation": 36,
        "other": 36,
    }
    assert {name: group for name, group in published.items() if name.startswith("act:")} == {
        name: group for name, group in ours.items() if name.startswith("act:")
    }


@both
def test_labels_move_no_value_and_follow_their_steps(metric):
    controls = np.array([CONTROLS[step % len(CONTROLS)] for step in range(96)])
    plain, labelled = compare(metric(), NOISY), compare(metric(), NOISY, controls=controls.tolist())
    assert (labelled.value, labelled.units) == (plain.value, plain.units)
    assert list(plain.detail["groups"]) == ["__overall__"]
    renamed = compare(metric(), NOISY, controls=["right" if c == "forward" else c for c in controls.tolist()])
    assert renamed.detail["groups"]["act:right"] == labelled.detail["groups"]["act:forward"]
    assert renamed.detail["groups"]["translation"] == labelled.detail["groups"]["translation"]


@both
def test_outliers_are_in_no_group(metric):
    wrong = TRUE.copy()
    wrong[30:] = wrong[30:] @ drifting(TRUE, 100)[1]
    controls = ["forward"] * 29 + ["left"] + ["forward"] * 66
    groups = compare(metric(max_rotation_degrees=50), wrong, controls=controls).detail["groups"]
    assert "act:left" not in groups
    assert groups["act:forward"]["count"] == groups["translation"]["count"] == 95


@both
def test_the_detail_can_be_written_down(metric):
    for path in (NOISY, still(), TRUE):
        outcome = compare(metric(), path, controls=["forward", "look_left"] * 48)
        assert set(outcome.detail) == {"scale", "alignment", "steps", "video_frames", "median", "count", "groups"}
        assert json.loads(json.dumps(outcome.detail, allow_nan=False)) == outcome.detail
