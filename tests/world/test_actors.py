from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS, camera_path
from lookaway.world.events import EVENTS
from lookaway.world.faults import FAULTS
from lookaway.world.recipe import ClipRecipe

CASE = ClipRecipe(family="playroom", event="both", camera="yaw_left_60", seed=3)


def play(actor: str, recipe: ClipRecipe = CASE, take: int = 0) -> ClipRecipe:
    return ACTORS[actor].plays(recipe, camera_path(recipe.camera), take)


def test_the_best_actor_comes_first_and_makes_no_mistake():
    assert next(iter(ACTORS)) == "perfect"
    assert play("perfect").injections == ()


@pytest.mark.parametrize("actor", [name for name in ACTORS if name != "perfect"])
def test_every_other_actor_makes_known_mistakes_within_its_bands(actor):
    bands = dict(ACTORS[actor].habits)
    injections = play(actor).injections
    assert {injection.fault for injection in injections} == bands.keys() <= FAULTS.keys()
    for injection in injections:
        low, high = bands[injection.fault]
        assert low <= injection.severity <= high


def test_an_actor_plays_the_same_take_of_a_case_always_alike():
    assert play("forgetful", take=1) == play("forgetful", take=1)


def test_takes_and_cases_of_an_actor_differ():
    first = play("forgetful").injections
    assert first != play("forgetful", take=1).injections
    assert first != play("forgetful", replace(CASE, seed=4)).injections


def test_frozen_never_moves_the_camera():
    (injection,) = play("frozen").injections
    assert (injection.fault, injection.severity) == ("camera_never_moves", 1.0)


@pytest.mark.parametrize("camera", CAMERAS)
@pytest.mark.parametrize("event", EVENTS)
def test_an_actor_leaves_out_mistakes_that_make_no_sense_in_a_case(camera, event):
    recipe = replace(CASE, camera=camera, event=event)
    for actor in ACTORS:
        faults = {injection.fault for injection in play(actor, recipe).injections}
        assert event != "none" or "state_reset" not in faults
        assert camera != "static" or not faults & {"camera_never_moves", "vanish", "duplicate", "layout_change"}
