from __future__ import annotations

import dataclasses
import json

import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.judges.reobservation import Reobservation, whole_seconds
from tests.judges.scripted_client import JUDGE, ScriptedClient, completion, judged, rollout_of, saying
from tests.support.watching import check_documented

RECIPE = Reobservation(judge=JUDGE)
CASE = rollout_of()
FIVE_SECONDS = [index / 8 for index in range(40)]


def said(pattern: str, seconds=None, subject: str = "the cat") -> dict:
    """`yny` is judgeable in the first and third of the seconds asked for."""
    numbers = range(len(pattern)) if seconds is None else seconds
    rows = [{"second": second, "judgeable": mark == "y"} for second, mark in zip(numbers, pattern, strict=True)]
    return completion({"subject": subject, "seconds": rows})


def test_every_second_has_what_was_said_of_it():
    feature = judged(RECIPE, saying(said("ynnyy")), CASE, FIVE_SECONDS)
    check_documented(RECIPE, feature)
    assert feature["judgeable"].tolist() == [[True], [False], [False], [True], [True]]
    assert feature["seconds"].tolist() == [0, 1, 2, 3, 4]
    assert feature.detail["subjects"] == ["the cat"]
    assert feature.detail["agreement"] == [None] * 5


def test_repeats_become_columns():
    recipe = dataclasses.replace(RECIPE, judge=dataclasses.replace(JUDGE, repeats=3))
    client = ScriptedClient(lambda request: said(["yyyny", "ynyny", "ynyyy"][request.repeat]))
    feature = judged(recipe, client, CASE, FIVE_SECONDS)
    check_documented(recipe, feature)
    assert feature["judgeable"].T.tolist() == [[mark == "y" for mark in row] for row in ("yyyny", "ynyny", "ynyyy")]
    assert feature.detail["agreement"] == pytest.approx([1, 1 / 3, 1, 1 / 3, 1])


def test_the_judge_is_told_the_seconds_and_sees_two_frames_of_each():
    client = saying(said("ynnyy"))
    feature = judged(RECIPE, client, CASE, FIVE_SECONDS)
    (request,) = client.requests
    assert json.loads(request.material.split("\n")[1]) == [0, 1, 2, 3, 4]
    assert feature["frame_indices"].tolist() == list(range(0, 40, 4))


def test_a_long_video_has_room_for_all_its_seconds_in_the_answer():
    short, long = saying(said("y")), saying(said("y" * 120))
    judged(RECIPE, short, CASE, [0.0, 0.5])
    judged(RECIPE, long, CASE, [index / 2 for index in range(240)])
    assert long.requests[0].max_tokens - short.requests[0].max_tokens >= 119 * 20


@pytest.mark.parametrize(
    "wrong",
    [
        said("ynny"),
        said("ynnyyy"),
        said("ynnyy", [0, 1, 2, 4, 3]),
        said("ynnyy", [1, 2, 3, 4, 5]),
        said("ynnyy", [0, 1, 1, 2, 3]),
        said(""),
        completion({"subject": "cat", "seconds": [{"second": number, "judgeable": "yes"} for number in range(5)]}),
        completion({"seconds": []}),
    ],
)
def test_a_second_missing_added_doubled_or_out_of_order_is_asked_for_again_and_then_failed(wrong):
    client = saying(wrong, said("nnnnn"))
    assert not judged(RECIPE, client, CASE, FIVE_SECONDS)["judgeable"].any()
    assert len(client.requests) == 2
    with pytest.raises(Unmeasurable) as caught:
        judged(RECIPE, saying(wrong, wrong), CASE, FIVE_SECONDS)
    assert caught.value.reason is Reason.JUDGE_FAILED


def test_the_complaint_names_the_seconds_that_were_found_and_those_expected():
    client = saying(said("yn"), said("ynnyy"))
    judged(RECIPE, client, CASE, FIVE_SECONDS)
    complaint = client.requests[1].corrections[0][1]
    assert "tells of the seconds 0, 1; expected are 0, 1, 2, 3, 4, each once" in complaint


def test_only_seconds_that_have_a_frame_are_asked_about():
    recipe = dataclasses.replace(RECIPE, frames=UniformFrames(2))
    feature = judged(recipe, saying(said("yy", [0, 4])), CASE, FIVE_SECONDS)
    assert feature["seconds"].tolist() == [0, 4]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([0.0], (0,)),
        ([0.0, 0.994, 1.994], (0, 1)),
        ([0.0, 0.996, 1.9996], (0, 1, 2)),
        ([0.0, 0.5, 2.5], (0, 2)),
        ([], ()),
    ],
)
def test_a_frame_belongs_to_the_second_that_its_label_tells(times, expected):
    assert whole_seconds(times) == expected


def test_it_needs_nothing_but_a_video_and_asks_once():
    assert RECIPE.declines(CASE) is None
    assert RECIPE.questions_per_rollout(CASE) == 1
    assert Reobservation().declines(CASE).reason is Reason.NO_JUDGE


def test_the_name_of_the_clip_is_not_told():
    client = saying(said("ynnyy"))
    judged(RECIPE, client, rollout_of("The cat jumps.", case="bedroom__yaw_LR"), FIVE_SECONDS)
    shown = json.dumps(client.requests[0].to_json())
    assert "yaw" not in shown
    assert "jumps" not in shown
