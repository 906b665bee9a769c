from __future__ import annotations

import dataclasses
import json

import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.judges.rating import CorrectnessRating, ProgressRating
from tests.judges.scripted_client import JUDGE, completion, judged, rollout_of, saying
from tests.support.watching import check_documented

RECIPES = (ProgressRating(judge=JUDGE), CorrectnessRating(judge=JUDGE))
CASE = rollout_of("A candle burns down.")


def rated(rating) -> dict:
    return completion({"rating": rating, "reason": "frame 4"})


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("rating", [1, 2, 3, 4, 5])
def test_every_rating_of_the_scale_is_kept(recipe, rating):
    feature = judged(recipe, saying(rated(rating)), CASE)
    check_documented(recipe, feature)
    assert feature["rating"].tolist() == [rating]
    assert feature.detail["reasons"] == ["frame 4"]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
@pytest.mark.parametrize("rating", [0, 6, -1, 4.5, 4.0, "4", True, None])
def test_what_is_not_on_the_scale_is_asked_for_again_and_then_failed(recipe, rating):
    client = saying(rated(rating), rated(2))
    assert judged(recipe, client, CASE)["rating"].tolist() == [2]
    assert len(client.requests) == 2
    with pytest.raises(Unmeasurable, match=f"^{recipe.name}: ") as caught:
        judged(recipe, saying(rated(rating), rated(rating)), CASE)
    assert caught.value.reason is Reason.JUDGE_FAILED


def test_repeats_are_kept_with_how_far_they_agree():
    recipe = dataclasses.replace(RECIPES[0], judge=dataclasses.replace(JUDGE, repeats=3))
    feature = judged(recipe, saying(rated(4), rated(4), rated(2)), CASE)
    assert feature["rating"].tolist() == [4, 4, 2]
    assert feature.detail["agreement"] == pytest.approx(1 / 3)


def test_progress_and_correctness_are_two_questions_about_one_event():
    clients = [saying(rated(3)), saying(rated(3))]
    for recipe, client in zip(RECIPES, clients, strict=True):
        judged(recipe, client, CASE)
    progress, correctness = (client.requests[0] for client in clients)
    assert "how far the event advanced" in progress.instruction
    assert "how plausible" in correctness.instruction
    assert progress.material == correctness.material
    assert json.loads(progress.material.split("\n")[1]) == ["A candle burns down."]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_without_an_event_there_is_nothing_to_rate(recipe):
    assert recipe.declines(rollout_of()).reason is Reason.MISSING_INPUT
