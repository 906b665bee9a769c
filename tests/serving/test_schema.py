"""Outcomes go over the wire and come back as they were; what is not a number never becomes one."""

from __future__ import annotations

import json
import pickle

import pytest
from pydantic import ValidationError

from lookaway.core import Abstention, Failure, Reason, Score, Unit
from lookaway.engine.scorer import VideoScores
from lookaway.serving.schema import Refused, ScoreResponse, as_response, as_reward, as_scores
from lookaway.training.reward import RewardValue

UNITS = (Unit("pair 0", Score(0.1, 3.0)), Unit("pair 1", Abstention(Reason.TOO_FEW_MATCHES, "few")))
SCORES = VideoScores(
    outcomes={
        "light": Score(0.1 + 0.2, 1e-300, UNITS, {"frames": [1, 2], "nested": {"a": None}}),
        "look": Abstention(Reason.POSE_FAILED, "no texture", UNITS, {"limit": 3}),
        "cut": Failure("ValueError", "broken", "a traceback with /home/somebody"),
    },
    is_tested=None,
    untested=frozenset({"light", "look"}),
    seconds=0.25,
)


def sent(response: ScoreResponse) -> ScoreResponse:
    return ScoreResponse.model_validate_json(response.model_dump_json())


def test_scores_come_back_to_the_bit():
    assert as_scores(sent(as_response("one", SCORES))) == SCORES


def test_a_reward_comes_back_with_its_scores():
    for value, why_not in ((0.1 + 0.2, ""), (None, "memory was not tested")):
        reward = RewardValue(value=value, is_measured=not why_not, why_not=why_not, parts={"light": 0.3}, scores=SCORES)
        assert as_reward(sent(as_response("one", SCORES, reward))) == reward
    assert as_reward(sent(as_response("one", SCORES))) is None


def test_every_outcome_says_what_it_is_and_only_a_score_has_a_value():
    outcomes = json.loads(as_response("one", SCORES).model_dump_json())["outcomes"]
    assert {name: outcome["status"] for name, outcome in outcomes.items()} == {
        "light": "score", "look": "abstention", "cut": "failure",
    }  # fmt: skip
    assert [name for name, outcome in outcomes.items() if "value" in outcome] == ["light"]


def test_a_traceback_stays_on_the_server():
    assert "somebody" not in as_response("one", SCORES).model_dump_json()


def test_tuples_of_python_are_lists():
    outcomes = {"light": Score(1.0, detail={"pairs": ((1, 2), (3, 4))})}
    found = as_response("one", VideoScores(outcomes=outcomes, is_tested=True, untested=frozenset(), seconds=0.0))
    assert as_scores(sent(found))["light"] == Score(1.0, detail={"pairs": [[1, 2], [3, 4]]})


@pytest.mark.parametrize("value", ["NaN", "Infinity", '"0.5"', "null"])
def test_an_answer_whose_score_is_not_a_number_is_not_read(value):
    text = '{"id": "a", "outcomes": {"light": {"status": "score", "value": %s}}, "is_tested": null, "untested": [], '
    with pytest.raises(ValidationError):
        ScoreResponse.model_validate_json(text % value + '"seconds": 1}', strict=True)


def test_a_refusal_keeps_what_it_says_between_processes():
    found = pickle.loads(pickle.dumps(Refused(429, "too_many_requests", "later", retry_after=3)))
    assert (found.status, found.code, str(found), found.retry_after) == (429, "too_many_requests", "later", 3)
