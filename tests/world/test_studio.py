from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lookaway.core import UserError
from lookaway.world import studio as studio_module
from lookaway.world.cameras import CAMERAS
from lookaway.world.events import EVENTS
from lookaway.world.faults import FAULTS
from lookaway.world.recipe import ClipRecipe, Injection
from lookaway.world.states import StateTable
from lookaway.world.studio import Shot, Studio
from tests.support.scenes import SCENES, small_recipe

pytestmark = pytest.mark.render

TINY = {"width": 128, "height": 72, "fps": 4}


def content(shot: Shot) -> str:
    digest = hashlib.sha256()
    for view in shot.views:
        for array in (view.picture, view.depth, view.instances):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def faulty(recipe: ClipRecipe, **faults: float) -> ClipRecipe:
    injections = tuple(Injection(fault=name, severity=severity) for name, severity in faults.items())
    return replace(recipe, model="faulty", injections=injections)


@pytest.mark.merge
def test_a_view_that_was_kept_is_never_a_wrong_one():
    first, second = (small_recipe(**TINY, family="test_painted", seed=seed) for seed in (0, 1))
    order = [first, faulty(first, style_shift=0.7), second, faulty(first, identity_texture=1.0), first]
    order += [faulty(second, vanish=0.5), second, faulty(first, style_shift=0.7), replace(first, width=160)]
    busy = Studio()
    shot_busily = [content(busy.shoot(recipe)) for recipe in order]
    busy.close()
    assert shot_busily[0] == shot_busily[4]
    assert shot_busily[1] == shot_busily[7]
    assert shot_busily[2] == shot_busily[6]
    assert len(set(shot_busily)) == 6
    for number in (2, 3, 8):
        fresh = Studio()
        assert content(fresh.shoot(order[number])) == shot_busily[number], order[number]
        fresh.close()


def test_frames_that_a_fault_leaves_alone_are_drawn_once(studio):
    recipe = small_recipe(**TINY)
    clean = studio.shoot(recipe)
    shot = studio.shoot(faulty(recipe, teleport=1.0))
    kept = [a is b for a, b in zip(clean.views, shot.views, strict=True)]
    assert all(kept[: clean.phases.d_start])
    assert not kept[-1]


def test_a_shot_has_one_row_one_view_and_one_cause_for_every_frame(studio):
    shot = studio.shoot(faulty(small_recipe(**TINY), temporal_cut=1.0))
    assert len(shot.table) == len(shot.views) == len(shot.phases.causes) == shot.phases.frames == shot.recipe.frames


def test_an_actor_is_seen_in_the_recipe_and_not_in_the_case(studio):
    recipe = small_recipe(**TINY)
    shot = studio.shoot(faulty(recipe, vanish=1.0))
    assert shot.recipe.case == recipe.case
    assert shot.clip.recipe == recipe.clean


def test_another_take_or_model_without_faults_keeps_its_own_name(studio):
    recipes = [small_recipe(**TINY), small_recipe(**TINY, take=1), small_recipe(**TINY, model="hallucinator")]
    shots = [studio.shoot(recipe) for recipe in recipes]
    assert [shot.recipe for shot in shots] == recipes
    assert len({content(shot) for shot in shots}) == 1


def test_a_scene_that_breaks_a_rule_is_drawn_again(studio, monkeypatch):
    asked: list[str] = []

    def first_breaks(clip: object, masks: object) -> str:
        asked.append("the first is refused" if not asked else "")
        return asked[-1]

    recipe = small_recipe(**TINY, seed=5)
    plain = content(studio.shoot(recipe))
    monkeypatch.setattr(studio_module, "broken_rule", first_breaks)
    fresh = Studio()
    again = content(fresh.shoot(recipe))
    fresh.close()
    assert len(asked) == 2
    assert plain != again


@pytest.mark.merge
def test_a_case_that_no_scene_makes_a_memory_test_is_refused_with_the_rule(studio):
    with pytest.raises(
        UserError, match=r"wait0-000: none of 12 drawn scenes.*out of sight in .* expected at least 25%"
    ):
        studio.shoot(small_recipe(**TINY, wait=0.0, seconds=8.0))
    assert len(studio.shoot(small_recipe(**TINY)).views) == 12  # and the studio can go on


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"width": 63}, "size is 128x63, expected even numbers"),
        ({"height": 129}, "expected even numbers"),
        ({"fps": 0}, "0 frames per second"),
        ({"wait": 2.5}, "does not fit into 3.0 s"),
        ({"wait": -1.0}, "does not fit"),
        ({"seconds": float("inf")}, "expected at most 120 s"),
        ({"seconds": float("nan")}, "expected at most 120 s"),
        ({"seed": -1}, "seed is -1"),
        ({"event": "spin"}, "No event is named 'spin'"),
        ({"family": "moon"}, "No family is named 'moon'"),
        ({"camera": "yaw_left_45"}, "No camera path is named 'yaw_left_45'"),
        ({"injections": (Injection(fault="forget", severity=0.5),)}, "No fault is named 'forget'"),
        ({"injections": (Injection(fault="vanish", severity=0.5),) * 2}, "vanish, vanish, expected each at most once"),
    ],
)
def test_a_recipe_with_a_mistake_is_refused_with_what_was_found(studio, fields, said):
    with pytest.raises(UserError, match=said):
        studio.shoot(replace(small_recipe(), **fields))


@pytest.mark.parametrize("severity", [-0.1, 1.1, float("nan")])
def test_a_severity_is_a_number_from_0_to_1(severity):
    with pytest.raises(UserError, match="expected a number from 0 to 1"):
        Injection(fault="vanish", severity=severity)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Studio]:
    """Gives up on a scene soon."""
    studio = Studio()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studio_module, "ATTEMPTS", 2)
        yield studio
    studio.close()


injections = st.lists(
    st.builds(Injection, fault=st.sampled_from(sorted(FAULTS)), severity=st.floats(0, 1)),
    max_size=3,
    unique_by=lambda injection: injection.fault,
).map(tuple)


@pytest.mark.merge
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    family=st.sampled_from(sorted(SCENES)),
    camera=st.sampled_from(sorted(CAMERAS)),
    event=st.sampled_from(EVENTS),
    injections=injections,
    wait=st.sampled_from([0.0, 0.5, 1.0, 1.3]),
    fps=st.sampled_from([4, 5, 7, 12]),
    size=st.sampled_from([(128, 72), (72, 128), (64, 64)]),
)
def test_any_recipe_is_shot_or_refused_in_words(fuzzed, family, camera, event, injections, wait, fps, size):
    try:
        recipe = ClipRecipe(
            family=family, camera=camera, event=event, injections=injections, wait=wait, fps=fps, seed=0,
            width=size[0], height=size[1], seconds=3.0,
        )  # fmt: skip
        shot = fuzzed.shoot(recipe)
    except UserError:
        return
    for field in fields(StateTable):
        assert np.isfinite(getattr(shot.table, field.name)).all(), field.name
    for turns in (shot.table.quaternion, shot.table.part_quaternion):
        np.testing.assert_allclose(np.linalg.norm(turns, axis=-1), 1, atol=1e-9)
    assert ((shot.table.opacity >= 0) & (shot.table.opacity <= 1)).all()
    assert ((shot.table.progress >= 0) & (shot.table.progress <= 1)).all()
    assert (shot.table.part_size >= 0).all()
    assert all(dose >= 0 for dose in shot.doses)
    assert all(np.isfinite(view.depth).all() for view in shot.views)
