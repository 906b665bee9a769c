from __future__ import annotations

import pytest

from lookaway.core import UnknownName, UserError
from lookaway.world.grid import Grid, with_fault
from lookaway.world.recipe import ClipRecipe

FORM = ClipRecipe(family="", event="none", camera="", seed=0)


def grid(**more: object) -> Grid:
    asked = {"families": ("playroom",), "events": ("none", "both"), "cameras": ("yaw_left_60",), "seeds": (0, 1)}
    return Grid(**{**asked, **more})


def test_every_case_is_rendered_clean_with_every_fault_and_by_every_actor():
    chosen = grid(faults=("vanish", "teleport"), severities=(0.5, 1.0), actors=("perfect", "frozen"), takes=3)
    recipes = list(chosen.recipes(FORM))
    assert len(recipes) == 4 * (1 + 2 * 2 + 3)
    assert len({(recipe.case, recipe.model, recipe.take) for recipe in recipes}) == len(recipes)


def test_clips_of_one_case_follow_each_other():
    cases = [recipe.case for recipe in grid(faults=("vanish",), severities=(1.0,)).recipes(FORM)]
    assert cases == sorted(cases, key=cases.index)


def test_the_perfect_actor_is_the_clean_clip_and_not_a_second_one():
    models = [recipe.model for recipe in grid(actors=("perfect",), seeds=(0,), events=("none",)).recipes(FORM)]
    assert models == ["perfect"]


def test_size_length_and_wait_come_from_the_form():
    form = ClipRecipe(family="", event="none", camera="", seed=0, width=128, height=64, fps=8, seconds=4.0, wait=2.0)
    (recipe, *_) = grid().recipes(form)
    assert (recipe.width, recipe.height, recipe.fps, recipe.seconds, recipe.wait) == (128, 64, 8, 4.0, 2.0)


def test_faults_without_severities_are_refused_with_advice():
    with pytest.raises(UserError, match="--severities"):
        list(grid(faults=("vanish",)).recipes(FORM))


def test_an_unknown_fault_is_told_the_nearest_name():
    with pytest.raises(UnknownName, match="Did you mean 'vanish'"):
        with_fault(FORM, "vanished", 1.0)


@pytest.mark.parametrize(
    ("axis", "name", "nearest"),
    [
        ("families", "playrom", "playroom"),
        ("events", "spacial", "spatial"),
        ("cameras", "yaw_left_6", "yaw_left_60"),
        ("faults", "vanished", "vanish"),
        ("actors", "perfekt", "perfect"),
    ],
)
def test_a_name_that_does_not_exist_is_told_before_the_first_recipe(axis, name, nearest):
    recipes = grid(**{axis: (name,), "severities": (1.0,)}).recipes(FORM)
    with pytest.raises(UnknownName, match=f"Did you mean '{nearest}'"):
        next(recipes)


@pytest.mark.parametrize("severity", [-0.1, 1.01, float("nan")])
def test_a_severity_outside_0_to_1_is_refused(severity):
    with pytest.raises(UserError, match="from 0 to 1"):
        with_fault(FORM, "vanish", severity)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"width": 101}, "even numbers"),
        ({"height": 32}, "at least 64"),
        ({"fps": 0}, "1 to 120"),
        ({"wait": 2.9}, "does not fit"),
        ({"wait": -1.0}, "does not fit"),
    ],
)
def test_a_recipe_that_cannot_be_a_clip_says_what_was_expected(wrong, said):
    with pytest.raises(UserError, match=said):
        ClipRecipe(family="playroom", event="none", camera="static", seed=0, **wrong)
