from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from lookaway.world.clip import build_clip, build_scene
from lookaway.world.events import ENDS, EVENTS, STARTS, check_process, with_process
from lookaway.world.nouns import Change
from lookaway.world.turns import rotation
from tests.support.scenes import SCENES, small_recipe

FAMILIES = sorted(SCENES)
PLACES = ("position", "quaternion")
STATES = ("part_position", "part_quaternion", "part_size", "part_tint")


def table(event: str, family: str = "test_sliding", **more: object):
    return build_clip(small_recipe(event=event, family=family, **more)).table


@pytest.mark.parametrize("family", FAMILIES)
def test_both_is_the_motion_of_the_one_and_the_process_of_the_other(family):
    both, spatial, in_place = (table(event, family) for event in ("both", "spatial", "in_place"))
    for column in PLACES:
        np.testing.assert_array_equal(getattr(both, column), getattr(spatial, column))
    for column in STATES:
        np.testing.assert_array_equal(getattr(both, column), getattr(in_place, column))
    np.testing.assert_array_equal(both.progress, np.stack([spatial.progress[:, 0], in_place.progress[:, 1]], axis=1))


@pytest.mark.parametrize("family", FAMILIES)
def test_an_event_changes_the_target_and_what_carries_it_and_nothing_else(family):
    none, both = table("none", family), table("both", family)
    clip = build_clip(small_recipe(family=family))
    moving = {0} | ({clip.scene.names.index(clip.scene.motion.carrier)} if clip.scene.motion.carrier else set())
    others = [index for index in range(len(clip.scene.things)) if index not in moving]
    for column in PLACES:
        np.testing.assert_array_equal(getattr(both, column)[:, others], getattr(none, column)[:, others])
        assert not np.array_equal(both.position[:, 0], none.position[:, 0])
    parts = len(clip.scene.target.parts)
    for column in STATES:
        np.testing.assert_array_equal(getattr(both, column)[:, parts:], getattr(none, column)[:, parts:])


def test_without_an_event_every_frame_is_the_same_but_for_the_camera():
    still = table("none")
    for field in fields(still):
        if field.name not in ("camera", "time"):
            column = getattr(still, field.name)
            np.testing.assert_array_equal(column, np.broadcast_to(column[:1], column.shape))
    assert not still.progress.any()


@pytest.mark.parametrize("family", FAMILIES)
def test_clocks_run_from_0_to_1_and_never_back(family):
    progress = table("both", family).progress[: small_recipe().frames]
    assert (np.diff(progress, axis=0) >= 0).all()
    np.testing.assert_allclose(progress[0], 0)
    np.testing.assert_allclose(progress[-1], 1)


@pytest.mark.parametrize("event", [event for event in EVENTS if event != "none"])
def test_what_happens_does_not_depend_on_where_the_camera_looks(event):
    away, static = table(event), table(event, camera="static")
    for column in (*PLACES, *STATES, "progress"):
        np.testing.assert_array_equal(getattr(away, column), getattr(static, column))


def test_a_process_is_a_straight_line_in_time_between_its_start_and_its_end():
    recipe = small_recipe(event="in_place")
    progress = table("in_place").progress[: recipe.frames, 1]
    expected = (np.arange(recipe.frames) / recipe.fps / recipe.seconds - STARTS) / (ENDS - STARTS)
    np.testing.assert_allclose(progress, np.clip(expected, 0, 1), atol=1e-12)


def test_the_state_of_a_process_is_in_closed_form():
    scene = build_scene("test_sliding", 0)
    still = table("none")
    at = with_process(still, scene, np.linspace(0, 1, len(still)))
    half = with_process(still, scene, np.full(len(still), 0.5))
    # The lid turns by 70 degrees about its left edge: its middle stays at one distance from the hinge.
    hinge, lid = np.array([-0.2, 0, 0.24]), at.part_position[:, 1]
    np.testing.assert_allclose(np.linalg.norm(lid - hinge, axis=1), np.linalg.norm(lid[0] - hinge), atol=1e-12)
    angles = np.degrees((rotation(at.part_quaternion[:, 1])).magnitude())
    np.testing.assert_allclose(angles, np.linspace(0, 70, len(still)), atol=1e-9)
    np.testing.assert_allclose(half.part_tint[:, 0], np.broadcast_to([0.75, 1, 0.75], (len(still), 3)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_process_can_be_undone(family):
    scene, still = build_scene(family, 0), table("none", family)
    changed = with_process(still, scene, np.full(len(still), 0.7))
    back = with_process(changed, scene, np.zeros(len(still)))
    for column in STATES:
        assert not np.array_equal(getattr(changed, column), getattr(still, column)) or column != "part_tint"
        np.testing.assert_allclose(getattr(back, column), getattr(still, column), atol=1e-15)


@pytest.mark.parametrize(
    ("camera", "sign"), [("yaw_right_60", 1), ("yaw_left_60", -1), ("yaw_right_30", -1), ("yaw_left_30", 1)]
)
def test_the_target_moves_towards_the_middle_of_the_view_but_away_from_a_small_turn(camera, sign):
    moved = table("spatial", camera=camera).position[:, 0]
    assert np.sign(moved[small_recipe().frames - 1, 0] - moved[0, 0]) == sign


def test_a_carrier_goes_along_with_what_it_carries():
    clip = build_clip(small_recipe(family="test_carried"))
    carrier = clip.scene.names.index("block 1")
    ways = clip.table.position[:, [0, carrier]] - clip.table.position[:1, [0, carrier]]
    np.testing.assert_allclose(ways[:, 0], ways[:, 1], atol=1e-12)
    assert ways[small_recipe().frames - 1, 0, 0] == pytest.approx(0.7, rel=0.01)


def test_a_process_of_a_part_that_is_not_there_is_a_mistake():
    scene = build_scene("test_sliding", 0)
    process = replace(scene.process, changes={"wheel": Change()})
    with pytest.raises(ValueError, match="wheel"):
        check_process(replace(scene, process=process))
