"""What moves by itself is innocent: clean clips have it, and no fault stops it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from lookaway.world.clip import Clip, build_clip
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS, FaultyCase
from lookaway.world.nouns import IdleMotion, Scene
from lookaway.world.part_motion import check_idle_motion, with_idle_motion
from lookaway.world.phases import Phases
from lookaway.world.studio import Studio
from lookaway.world.turns import rotation
from lookaway.world.words import words_of
from lookaway.world.writing import write_shot
from tests.support.scenes import carried, small_recipe

PARTS = ("part_position", "part_quaternion", "part_size", "part_tint")
INNOCENT = ("plaza", "pond", "fireside")
IDLE = (
    IdleMotion(thing="block 2", part="body", period=1.1, move=(0.1, 0, 0), tint=(1, 0.5, 1)),
    IdleMotion(thing="cart", part="lid", period=0.9, phase=0.2, turn=(0, 0, 20), grow=(1, 1, 1.5)),
)


@pytest.fixture(scope="module", autouse=True)
def windy() -> Iterator[None]:
    """A scene in which a block, and the lid of the target, move by themselves under a light that flickers."""

    def calm(rng: np.random.Generator) -> Scene:
        return carried(np.random.default_rng(0))  # the same one under every name

    def build(rng: np.random.Generator) -> Scene:
        return replace(calm(rng), idle=IDLE, flicker_stops=0.2)

    FAMILIES["test_windy"], FAMILIES["test_calm"] = build, calm
    yield
    del FAMILIES["test_windy"], FAMILIES["test_calm"]


def clip_of(family: str, event: str = "none", **form: object) -> Clip:
    return build_clip(small_recipe(family=family, event=event, **form))


def case_of(clip: Clip) -> FaultyCase:
    frames = clip.recipe.frames
    causes = ("visible",) * 8 + ("out_of_view",) * 8 + ("visible",) * (frames - 16)
    return FaultyCase(clip=clip, phases=Phases(d_start=8, r_start=16, frames=frames, causes=causes))  # type: ignore[arg-type]


def index_of(clip: Clip, thing: str, part: str) -> int:
    scene = clip.scene
    named = [(scene.names[owner], p.name) for owner, p in zip(scene.owners, scene.parts, strict=True)]
    return named.index((thing, part))


def test_only_what_is_named_moves_by_itself():
    windy, calm = clip_of("test_windy"), clip_of("test_calm")
    moving = {index_of(windy, motion.thing, motion.part) for motion in IDLE}
    for name in PARTS:
        columns = getattr(windy.table, name), getattr(calm.table, name)
        for index in set(range(len(windy.scene.parts))) - moving:
            np.testing.assert_array_equal(columns[0][:, index], columns[1][:, index])
    block, lid = (index_of(windy, motion.thing, motion.part) for motion in IDLE)
    assert np.ptp(windy.table.part_position[:, block, 0]) > 0.15
    assert np.ptp(windy.table.part_tint[:, block, 1]) > 0.5
    assert np.ptp(windy.table.part_size[:, lid, 2]) > 0
    np.testing.assert_array_equal(windy.table.position, calm.table.position)


def test_idle_motion_is_added_once_however_often_it_is_added():
    clip = clip_of("test_windy", "both")
    again = with_idle_motion(clip.table, clip.scene)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(again, name), getattr(clip.table, name))


def test_a_lid_that_opens_and_shakes_does_both():
    windy, calm = clip_of("test_windy", "in_place"), clip_of("test_calm", "in_place")
    lid = index_of(windy, "cart", "lid")
    turns = [rotation(clip.table.part_quaternion[:, lid]) for clip in (windy, calm)]
    shaken = np.degrees((turns[0] * turns[1].inv()).magnitude())
    wave = np.abs(20 * np.sin(2 * np.pi * (windy.table.time / 0.9 + 0.2)))
    np.testing.assert_allclose(shaken, wave, atol=1e-6)


@pytest.mark.parametrize("fault", ["frozen_while_unseen", "state_reset"])
def test_an_event_that_is_lost_does_not_stop_what_is_innocent(fault):
    clip = clip_of("test_windy", "both")
    case = case_of(clip)
    edited = FAULTS[fault].edit(case, clip.table, 1.0)
    block, lid = (index_of(clip, motion.thing, motion.part) for motion in IDLE)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(edited, name)[:, block], getattr(clip.table, name)[:, block])
        np.testing.assert_array_equal(getattr(edited, name)[:8], getattr(clip.table, name)[:8])
    assert np.ptp(edited.part_size[case.returned, lid, 2]) > 0
    np.testing.assert_array_equal(edited.light, clip.table.light)


def test_light_that_flickers_has_the_dose_of_a_shift_that_steady_light_has():
    clips = [clip_of(name) for name in ("test_windy", "test_calm")]
    assert np.ptp(clips[0].table.light[:, 0]) > 0.05
    assert np.ptp(clips[1].table.light) == 0
    fault = FAULTS["lighting_shift"]
    cases = [case_of(replace(clip, recipe=clips[1].recipe)) for clip in clips]
    doses = [fault.dose(case, fault.edit(case, case.clip.table, 0.6)) for case in cases]
    assert doses[0] == pytest.approx(doses[1])


def test_idle_motion_of_a_part_that_is_not_there_is_an_error():
    scene = clip_of("test_calm").scene
    with pytest.raises(ValueError, match="sail"):
        check_idle_motion(replace(scene, idle=(IdleMotion(thing="cart", part="sail", period=1.0),)))
    with pytest.raises(ValueError, match="hat"):
        check_idle_motion(replace(scene, identity=("hat",)))


# A person


def test_a_person_who_walks_faces_the_way_and_then_the_camera():
    clip = clip_of("plaza", "spatial")
    ahead = rotation(clip.table.quaternion[:, 0]).apply([0.0, -1.0, 0.0])
    way = np.sign(clip.table.position[-1, 0, 0])
    middle = clip.recipe.frames // 2
    assert ahead[middle, 0] * way > 0.9
    for frame in (0, -1):
        np.testing.assert_allclose(ahead[frame], [0, -1, 0], atol=1e-9)


def test_legs_swing_while_a_person_walks_and_stand_at_both_ends():
    clip = clip_of("plaza", "spatial")
    shoes = [index_of(clip, "person", f"{side} shoe") for side in ("left", "right")]
    apart = clip.table.part_position[:, shoes[0], 1] - clip.table.part_position[:, shoes[1], 1]
    assert np.ptp(apart) > 0.4 * clip.scene.target.diameter
    assert abs(apart[0]) < 1e-9
    assert abs(apart[-1]) < 1e-9


def test_a_person_who_stands_breathes_and_stays_on_both_feet():
    clip = clip_of("plaza")
    chest, shoe = (index_of(clip, "person", part) for part in ("chest", "left shoe"))
    assert np.ptp(clip.table.part_size[:, chest, 1]) > 0
    assert np.ptp(clip.table.part_position[:, shoe]) == np.ptp(clip.table.part_position[0, shoe])


@pytest.mark.parametrize(("fault", "column"), [("identity_texture", "part_repaint"), ("identity_colour", "part_tint")])
def test_the_identity_of_a_person_is_lost_with_the_clothes_and_the_skin_stays(fault, column):
    clip = clip_of("plaza")
    case = case_of(clip)
    edited = FAULTS[fault].edit(case, clip.table, 1.0)
    parts = clip.scene.target.parts
    differs = (getattr(edited, column) != getattr(clip.table, column)).reshape(len(edited), len(clip.scene.parts), -1)
    changed = {parts[index].name for index in np.flatnonzero(differs.any(axis=(0, 2)))}
    assert {"chest", "waist", "hips", "left thigh", "right shin", "left upper arm"} <= changed
    assert not changed & {"head", "neck", "hair", "left hand", "right forearm"}
    assert FAULTS[fault].dose(case, edited) > 10


def test_the_top_and_the_trousers_of_a_person_differ():
    scene = clip_of("plaza").scene
    looks = {part.name: part.surface.colours for part in scene.target.parts}
    assert looks["chest"] == looks["waist"] == looks["left upper arm"]
    assert looks["hips"] == looks["left thigh"] == looks["right shin"]
    assert looks["chest"] != looks["hips"]


@pytest.mark.parametrize("family", INNOCENT)
def test_frames_of_a_clip_without_event_and_camera_motion_differ(family):
    table = clip_of(family, camera="static").table
    assert len({row.drawn_key() for row in table.rows()}) == len(table)


@pytest.mark.render
def test_the_card_of_a_clip_says_what_moves_by_itself(tmp_path):
    studio = Studio()
    try:
        shots = [studio.shoot(small_recipe(family=family, event="none")) for family in ("test_windy", "test_calm")]
    finally:
        studio.close()
    windy, calm = (write_shot(shot, tmp_path / shot.recipe.family, words_of(shot.clip)) for shot in shots)
    assert {thing.name for thing in windy.things if thing.moves_by_itself} == {"block 2", "cart"}
    assert windy.light_flicker_stops == 0.2
    assert not any(thing.moves_by_itself for thing in calm.things)
    assert calm.light_flicker_stops == 0
