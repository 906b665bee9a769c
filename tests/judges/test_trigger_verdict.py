from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from lookaway.core import JudgeModel, Reason, Timeline, Unmeasurable, UserError
from lookaway.io.sampling import UniformFrames
from lookaway.judges.prompts import Prompt
from lookaway.judges.trigger_verdict import TriggerVerdict
from tests.judges.scripted_client import HEIGHT, JUDGE, ScriptedClient, completion, judged, rollout_of, saying
from tests.support.watching import check_documented

POSED = {"triggered": True, "confidence": 0.9, "reason": "gone in frame 2, back in frame 3"}
NOT_POSED = {"triggered": False, "confidence": 0.25, "reason": "in view all the time"}
RECIPE = TriggerVerdict(judge=JUDGE)
CASE = rollout_of("A cup stands there.", "The camera turns away and back.", target="cup")


def repeated(count: int, recipe: TriggerVerdict = RECIPE) -> TriggerVerdict:
    return dataclasses.replace(recipe, judge=dataclasses.replace(JUDGE, repeats=count))


@pytest.mark.parametrize("said", [POSED, NOT_POSED])
def test_what_the_judge_says_is_kept(said):
    feature = judged(RECIPE, saying(completion(said)), CASE)
    check_documented(RECIPE, feature)
    assert feature["triggered"].tolist() == [said["triggered"]]
    assert feature["confidence"].tolist() == [said["confidence"]]
    assert feature["frame_indices"].tolist() == [0, 1, 2, 3]
    assert feature.detail["reasons"] == [said["reason"]]
    assert feature.detail["agreement"] is None
    assert feature.detail["model"] == "judge-of-may"


def test_repeats_are_kept_one_by_one_with_how_far_they_agree():
    answers = [completion(POSED), completion(NOT_POSED), completion(POSED)]
    client = saying(*answers)
    feature = judged(repeated(3), client, CASE)
    assert feature["triggered"].tolist() == [True, False, True]
    assert feature.detail["agreement"] == pytest.approx(1 / 3)
    assert [request.seed for request in client.requests] == [0, 1, 2]
    assert feature.detail["replies"] == [request.key() for request in client.requests]
    assert len(set(feature.detail["replies"])) == 3


def test_all_questions_are_put_before_the_first_answer_is_waited_for():
    client = saying(completion(POSED), completion(POSED))
    recipe = repeated(2)
    extraction = recipe.load_with(client).start(CASE, Timeline(np.array([0.0]), 8, HEIGHT), {})
    extraction.finish()
    assert len(client.requests) == 2


def test_the_judge_sees_the_captions_and_the_target_as_material():
    client = saying(completion(POSED))
    judged(RECIPE, client, CASE)
    (request,) = client.requests
    assert json.loads(request.material.split("\n")[1]) == list(CASE.case.prompt)
    assert '<material name="target">\n"cup"' in request.material
    assert "cup" not in request.instruction + request.system


def test_a_case_without_a_target_shows_none():
    client = saying(completion(POSED))
    judged(RECIPE, client, rollout_of("A street."))
    assert "target" not in client.requests[0].material


def test_the_judge_sees_the_sampled_frames_in_order_with_their_times():
    client = saying(completion(POSED))
    recipe = dataclasses.replace(RECIPE, frames=UniformFrames(3))
    judged(recipe, client, CASE, [index / 8 for index in range(9)])
    pictures = client.requests[0].pictures
    assert [(picture.index, picture.time_seconds) for picture in pictures] == [(0, 0.0), (4, 0.5), (8, 1.0)]
    assert [int(picture.pixels[0, 0, 0]) for picture in pictures] == [0, 4, 8]


def test_small_videos_are_not_enlarged_and_large_ones_are_made_smaller():
    start = RECIPE.load_with(saying()).start
    heights = [start(CASE, Timeline(np.array([0.0, 0.1]), 8, side), {}).request.height for side in (240, 480, 1080)]
    assert heights == [240, 480, 480]


@pytest.mark.parametrize("what", ["human", "object", "environment", "causal"])
def test_every_kind_of_memory_has_a_test_of_its_own(what):
    client = saying(completion(POSED))
    judged(dataclasses.replace(TriggerVerdict.about(what), judge=JUDGE), client, CASE)
    assert client.requests[0].instruction.endswith(Prompt.named(f"trigger_{what}").text.strip())


def test_without_captions_there_is_nothing_to_judge():
    assert RECIPE.declines(rollout_of()).reason is Reason.MISSING_INPUT


def test_without_a_judge_no_judge_calls_are_made():
    assert TriggerVerdict().declines(CASE).reason is Reason.NO_JUDGE
    assert TriggerVerdict(judge=JudgeModel(model="judge")).declines(CASE) is None


def test_repeats_count_as_questions():
    assert RECIPE.questions_per_rollout(CASE) == 1
    assert repeated(5).questions_per_rollout(CASE) == 5


def test_it_is_not_loaded_without_a_judge():
    with pytest.raises(UserError, match="trigger_verdict needs a judge"):
        RECIPE.load()


@pytest.mark.parametrize("confidence", [-0.1, 1.1, "0.5"])
def test_a_confidence_outside_its_range_is_asked_for_again(confidence):
    client = saying(completion({**POSED, "confidence": confidence}), completion(NOT_POSED))
    assert judged(RECIPE, client, CASE)["triggered"].tolist() == [False]
    assert len(client.requests) == 2


def test_one_repeat_without_an_answer_leaves_nothing():
    client = ScriptedClient(lambda request: completion("maybe" if request.repeat else POSED))
    with pytest.raises(Unmeasurable, match=r"^trigger: neither the judge's answer nor") as caught:
        judged(repeated(2), client, CASE)
    assert caught.value.reason is Reason.JUDGE_FAILED
