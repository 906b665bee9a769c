"""Trained networks tell things and people apart: the weights are real, packages of the environment carry them."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.io.sampling import UniformFrames
from lookaway.io.world_clips import CARD, open_world
from lookaway.perception.faces.buffalo_faces import BuffaloFaces
from lookaway.perception.faces.sface_faces import SfaceFaces
from lookaway.perception.similarity.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.perception.similarity.region_embeddings import RegionEmbeddings
from lookaway.perception.truth import TrueMasks
from tests.support import similarity
from tests.support.people import SMALL_BUFFALO, likeness_after_changes, people_of, photograph
from tests.support.rendered import copy_small
from tests.support.watching import perceive, rollout_of
from tests.support.world import FORM

pytestmark = pytest.mark.render

FACES = (SfaceFaces(), BuffaloFaces(weights=SMALL_BUFFALO, min_score=0.7))


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    root = tmp_path_factory.mktemp("world")
    copy_small(root, families=("kitchen", "playroom"), events=("none",), cameras=("orbit_left",))
    return open_world(root)


@pytest.mark.parametrize("keep_background", [False, True])
def test_sights_of_one_thing_from_all_sides_are_more_alike_than_two_things(clips, keep_background):
    recipe = RegionEmbeddings(
        TrueMasks(UniformFrames(5), all_things=True),
        EfficientnetEmbeddings(side=160),
        keep_background=keep_background,
        height=FORM.height,
    )
    pairs = [
        similarity.of_pairs(
            clip.card, perceive(recipe, rollout_of(clip.video, artifacts={"truth": clip.folder / CARD}))
        )
        for clip in clips
    ]
    same, different = (np.concatenate(kind) for kind in zip(*pairs, strict=True))
    assert len(same) > 100
    assert len(different) > 1000
    assert similarity.auc(same, different) >= 0.9


@pytest.mark.parametrize("recipe", FACES, ids=lambda recipe: recipe.name)
def test_people_stay_themselves_however_their_picture_is_changed(recipe):
    same, others = likeness_after_changes(recipe, photograph("team"))
    assert len(same) > 90
    assert similarity.auc(same, others) >= 0.99
    assert np.median(same) > others.max()


@pytest.mark.parametrize("recipe", FACES, ids=lambda recipe: recipe.name)
def test_somebody_is_known_in_another_photograph(recipe):
    (someone,), _ = people_of(recipe, photograph("one_of_the_team"))
    team, _ = people_of(recipe, photograph("team"))
    cosines = np.array([person.vector @ someone.vector for person in team])
    rest = np.delete(cosines, cosines.argmax())
    assert cosines.max() > 0.5 > rest.max() + 0.1
    # He is the tallest of them.
    assert team[cosines.argmax()].centre[1] == min(person.centre[1] for person in team)


@pytest.mark.parametrize("recipe", FACES, ids=lambda recipe: recipe.name)
def test_nobody_of_one_team_is_taken_for_somebody_of_another(recipe):
    three, _ = people_of(recipe, photograph("three"))
    team, _ = people_of(recipe, photograph("team"))
    assert max(one.vector @ other.vector for one in three for other in team) < 0.5
