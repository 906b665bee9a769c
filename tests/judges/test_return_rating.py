from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lookaway.core import Feature, Reason, Timeline, Unmeasurable
from lookaway.io.sampling import FirstAndLast
from lookaway.judges.return_rating import ReturnRating
from lookaway.metrics.return_rating import ReturnRatingScore, ReturnRatingWeighted
from tests.judges.scripted_client import JUDGE, completion, judged, rollout_of, saying
from tests.support.revisit_golden import rollout_of as rollout_with
from tests.support.watching import check_documented

RECIPE = ReturnRating(judge=JUDGE)


def answer(appearance=5, presence=5, scene=5, view=5, overall=100) -> dict:
    return completion(
        {
            "appearance": appearance,
            "presence": presence,
            "scene": scene,
            "view": view,
            "overall": overall,
            "reason": "f9",
        }
    )


def rating(*parts: tuple[int, int, int, int], overall: tuple[int, ...]) -> dict[str, Feature]:
    return {"return_rating": Feature({"parts": np.array(parts), "overall": np.array(overall)}, {"reasons": ["f9"]})}


def test_the_ratings_of_the_judge_are_kept():
    client = saying(answer(4, 5, 3, 2, 61))
    feature = judged(RECIPE, client, rollout_of(target="toy bear"))
    check_documented(RECIPE, feature)
    assert feature["parts"].tolist() == [[4, 5, 3, 2]]
    assert feature["overall"].tolist() == [61]
    assert "toy bear" in client.requests[0].material


def test_without_a_target_the_most_prominent_object_is_asked_about():
    client = saying(answer())
    judged(RECIPE, client, rollout_of())
    assert "toy bear" not in client.requests[0].material
    assert "most prominent" in client.requests[0].instruction


@pytest.mark.parametrize("wrong", [answer(appearance=6), answer(view=-1), answer(overall=101), answer(scene="5")])
def test_what_is_not_on_the_scale_is_asked_for_again_and_then_failed(wrong):
    assert judged(RECIPE, saying(wrong, answer()), rollout_of())["overall"].tolist() == [100]
    with pytest.raises(Unmeasurable) as refusal:
        judged(RECIPE, saying(wrong, wrong), rollout_of())
    assert refusal.value.reason is Reason.JUDGE_FAILED


def test_without_a_judge_it_is_declined():
    assert ReturnRating().declines(rollout_of()).reason is Reason.NO_JUDGE


@pytest.mark.parametrize(
    ("count", "indices"), [(81, (0, 77, 78, 79, 80)), (5, (0, 1, 2, 3, 4)), (3, (0, 1, 2)), (1, (0,))]
)
def test_the_judge_sees_the_first_frame_and_the_last_four(count, indices):
    timeline = Timeline(np.arange(count) / 15, 64, 48)
    assert FirstAndLast(4).indices(timeline, rollout_of()) == indices


@pytest.mark.parametrize(
    ("parts", "overall", "written", "weighted"),
    [
        pytest.param([(5, 5, 5, 5)], (100,), 100, 100, id="best"),
        pytest.param([(0, 0, 0, 0)], (0,), 0, 0, id="worst"),
        pytest.param([(4, 5, 3, 2)], (90,), 90, 75, id="a judge that does not keep to its weights"),
        pytest.param([(5, 5, 5, 5), (0, 0, 0, 0), (5, 5, 5, 5)], (90, 10, 80), 80, 100, id="median over repeats"),
    ],
)
def test_the_score_is_what_the_judge_writes_or_what_its_parts_make(parts, overall, written, weighted):
    found = rating(*parts, overall=overall)
    assert ReturnRatingScore().measure(rollout_of(), found).value == pytest.approx(written)
    assert ReturnRatingWeighted().measure(rollout_of(), found).value == pytest.approx(weighted)


def test_reasons_of_the_judge_change_nothing():
    found = rating((4, 5, 3, 2), overall=(61,))
    other = {"return_rating": dataclasses.replace(found["return_rating"], detail={"reasons": ["something else"]})}
    values = [ReturnRatingWeighted().measure(rollout_of(), each).value for each in (found, other)]
    assert values[0] == values[1]


@pytest.mark.parametrize(
    ("action", "is_declined"), [("left_then_right", False), ("left_then_left", True), (None, False)]
)
def test_an_action_that_does_not_lead_back_is_declined_unless_as_published(action, is_declined):
    rollout = rollout_with(action=action)
    assert (ReturnRatingScore().declines(rollout) is not None) is is_declined
    assert ReturnRatingScore(needs_loop=False).declines(rollout) is None
