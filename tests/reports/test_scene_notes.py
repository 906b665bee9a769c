from __future__ import annotations

import pytest

from lookaway.core import Estimate
from lookaway.reports.scene_notes import SceneOfRollout, few_scene_notes, seed_scene_notes


def of_scenes(*counts: int) -> list[Estimate]:
    return [Estimate(mean=0.5, low=None, high=None, scored=count, scenes=count) for count in counts]


def rollouts(*places: tuple[str, str], model: str = "m") -> list[SceneOfRollout]:
    return [SceneOfRollout(model, scene, seed) for scene, seed in places]


def test_twenty_scenes_need_no_note():
    assert few_scene_notes([*of_scenes(20, 300), None]) == []


def test_fewer_than_twenty_scenes_may_lack_rare_failures():
    (note,) = few_scene_notes([*of_scenes(19, 5, 20), None])
    assert note.startswith("2 of 3 cells have fewer than 20 scenes: rare failures may be missing from these scenes")


def test_fewer_than_five_scenes_show_their_means():
    (own,) = few_scene_notes(of_scenes(4, 30), "dimension")
    assert own.startswith("1 of 2 dimensions has fewer than 5 scenes: the mean of each scene is shown")


def test_a_scene_for_every_rollout_is_noticed_where_there_are_several_seeds():
    (note,) = seed_scene_notes(rollouts(("a", "0"), ("b", "1"), ("c", "0")))
    assert note.startswith("Every rollout of m has a scene of its own, although there are several seeds.")


def test_models_with_the_same_finding_share_a_note():
    (note,) = seed_scene_notes([*rollouts(("a", "0"), ("b", "1")), *rollouts(("a", "0"), ("b", "1"), model="n")])
    assert note.startswith("Every rollout of m, n has")


@pytest.mark.parametrize(
    "places",
    [
        (("a", "0"), ("b", "0"), ("c", "0")),
        (("a", "0"), ("a", "1"), ("b", "0")),
        (("room 1", "0"), ("room 2", "0")),
        (("seed bank", "0"), ("seedling", "0")),
        (),
    ],
)
def test_scenes_that_seeds_share_or_that_have_one_seed_are_not_named(places):
    assert seed_scene_notes(rollouts(*places)) == []


@pytest.mark.parametrize(
    "names", [("room_seed0", "room_seed1"), ("room/Seed-3", "room/Seed-4"), ("seed=1 x", "seed=2 x")]
)
def test_seeds_in_the_names_of_scenes_are_noticed(names):
    (note,) = seed_scene_notes(rollouts(*((name, "0") for name in names)))
    assert note.startswith("The scenes of m have seeds in their names.")
