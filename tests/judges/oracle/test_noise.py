from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest

from lookaway.core import JudgeModel
from lookaway.judges.errors import Unreadable
from lookaway.judges.judge_feature import SYSTEM
from lookaway.judges.openai_format import completion_fields
from lookaway.judges.oracle import Noise, OracleServer, ServerErrors
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import TypedQuestion, yes_no
from lookaway.judges.trigger_verdict import TriggerAnswer
from tests.judges.oracle.sending import WORDS, about, is_even, parity, put

LOGPROBS = {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}


def serving(function: Any = parity, **noise: Any) -> OracleServer:
    return OracleServer(None, answers={WORDS: function}, noise=Noise(**noise))


def p_yes(server: OracleServer, number: int) -> float:
    return yes_no(put(server, about(number, **LOGPROBS)).reply, max_doubt=0.0).p_yes


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


@pytest.mark.parametrize("certainty", [0.95, 0.5, 0.123456789, 1.0, 0.0])
def test_the_probability_of_yes_is_the_certainty_to_nine_digits(certainty: float) -> None:
    with serving(is_even, certainty=certainty) as server:
        if 0 < certainty < 1:
            assert p_yes(server, 4) == pytest.approx(certainty, abs=1e-9)
            assert p_yes(server, 3) == pytest.approx(1 - certainty, abs=1e-9)
        else:
            found = yes_no(put(server, about(4, **LOGPROBS)).reply, max_doubt=0.1)
            assert found.p_yes == certainty


@pytest.mark.parametrize("bias", [2.0, -3.0])
def test_bias_is_added_to_the_log_odds_of_yes(bias: float) -> None:
    with serving(is_even, yes_bias=bias) as server:
        assert logit(p_yes(server, 4)) == pytest.approx(logit(0.95) + bias, abs=1e-9)
        assert logit(p_yes(server, 3)) == pytest.approx(logit(0.05) + bias, abs=1e-9)


def test_listed_words_are_likeliest_first_of_several_spellings_and_do_not_sum_to_one() -> None:
    with serving(is_even) as server:
        choice = put(server, about(4, **LOGPROBS)).json["choices"][0]
        few = put(server, about(4, logprobs=True, top_logprobs=3)).json["choices"][0]
    (token,) = choice["logprobs"]["content"]
    chances = [math.exp(entry["logprob"]) for entry in token["top_logprobs"]]
    words = {entry["token"] for entry in token["top_logprobs"]}
    assert {"Yes", " yes", "YES", "No", " no", "NO", "The"} <= words
    assert 0.9 < sum(chances) < 1
    assert chances == sorted(chances, reverse=True)
    assert (choice["message"]["content"], token["token"], choice["finish_reason"]) == ("Yes", "Yes", "length")
    assert token["logprob"] == token["top_logprobs"][0]["logprob"]
    assert len(few["logprobs"]["content"][0]["top_logprobs"]) == 3


def test_log_probabilities_go_missing_in_silence_where_the_server_has_none() -> None:
    with serving(is_even, gives_logprobs=False) as server:
        got = put(server, about(4, **LOGPROBS))
    assert got.status == 200
    assert "logprobs" not in got.json["choices"][0]
    assert got.reply.text == "Yes"


def test_nobody_gets_log_probabilities_who_did_not_ask() -> None:
    with serving(is_even) as server:
        assert put(server, about(4)).json["choices"][0]["logprobs"] is None


def test_noise_makes_as_many_answers_wrong_as_it_says_and_keeps_their_shape() -> None:
    with serving(wrong_answer_rate=0.25) as server:
        answers = {number: put(server, about(number)).answer for number in range(200)}
    wrong = {number for number, answer in answers.items() if answer["even"] is (number % 2 == 1)}
    assert len(wrong) / len(answers) == pytest.approx(0.25, abs=0.08)
    for number, answer in answers.items():
        assert (answer["last_digit"] != number % 10) is (number in wrong)
        assert 0 <= answer["last_digit"] <= 9


def test_full_noise_is_always_wrong_and_none_never() -> None:
    with serving(is_even, wrong_answer_rate=1.0) as server:
        assert [put(server, about(number)).reply.text for number in range(4)] == ["No", "Yes", "No", "Yes"]
    with serving(is_even) as server:
        assert [put(server, about(number)).reply.text for number in range(4)] == ["Yes", "No", "Yes", "No"]


def test_bias_turns_false_into_true_and_never_true_into_false() -> None:
    with serving(yes_bias=1.0) as server:
        answers = {number: put(server, about(number)).answer for number in range(200)}
    odd = [answers[number]["even"] for number in answers if number % 2]
    assert all(answers[number]["even"] for number in answers if number % 2 == 0)
    assert sum(odd) / len(odd) == pytest.approx(math.tanh(0.5), abs=0.15)
    assert all(answer["last_digit"] == number % 10 for number, answer in answers.items())


def test_bias_below_zero_turns_true_into_false() -> None:
    with serving(yes_bias=-30.0) as server:
        assert [put(server, about(number)).answer["even"] for number in range(4)] == [False] * 4


def test_the_same_question_gets_the_same_answer_whatever_went_wrong_before() -> None:
    noise = {"wrong_answer_rate": 0.5, "seed": 3}
    with serving(**noise) as server:
        calm = [put(server, about(number)).answer for number in range(20)]
        again = [put(server, about(number)).answer for number in range(20)]
    errors = ServerErrors(script=["server_error", "refusal"] * 20)
    with OracleServer(None, answers={WORDS: parity}, noise=Noise(**noise), errors=errors) as server:
        for number in range(20):
            put(server, about(number))
            put(server, about(number))
        rough = [put(server, about(number)).answer for number in range(20)]
        complaint = [{"role": "assistant", "content": "?"}, {"role": "user", "content": "Again."}]
        corrected = [
            put(server, {**about(number), "messages": [*about(number)["messages"], *complaint]}).answer
            for number in range(20)
        ]
    assert calm == again == rough == corrected


def test_chance_is_drawn_anew_where_a_request_asks_for_it() -> None:
    with serving(wrong_answer_rate=0.5) as server:
        free = {put(server, about(4, temperature=0.7, seed=None)).answer["even"] for _ in range(20)}
        seeded = {put(server, about(4, temperature=0.7, seed=1)).answer["even"] for _ in range(20)}
    assert (len(free), len(seeded)) == (2, 1)


def test_free_words_come_as_prose_or_in_a_fence_until_somebody_complains() -> None:
    with serving(holds_schema=False) as server:
        said = [put(server, about(number, response_format={"type": "json_schema"})).reply.text for number in range(20)]
        fenced = [text for text in said if text.startswith("```json\n")]
        assert 0 < len(fenced) < len(said)
        for text in said:
            with pytest.raises(json.JSONDecodeError):
                json.loads(text)
        complaint = [{"role": "assistant", "content": said[0]}, {"role": "user", "content": "JSON alone."}]
        corrected = put(server, {**about(4), "messages": [*about(4)["messages"], *complaint]})
    assert corrected.answer == {"even": True, "last_digit": 4}


def test_a_fence_can_be_read_and_prose_cannot() -> None:
    question = TypedQuestion(name="", prompts=(Prompt.named("trigger"),), answer=TriggerAnswer)
    request = completion_fields(question.request(SYSTEM, JudgeModel(model="asked"), (), 0))

    def triggered(*_: object) -> TriggerAnswer:
        return TriggerAnswer(triggered=True, confidence=0.5, reason="seen")

    read = []
    with OracleServer(None, answers={"trigger": triggered}, noise=Noise(holds_schema=False)) as server:
        for seed in range(12):
            reply = put(server, {**request, "seed": seed}).reply
            try:
                read.append(question.read(reply).triggered)
            except Unreadable:
                read.append(None)
    assert set(read) == {True, None}


def test_answers_take_their_time() -> None:
    with serving(latency_seconds=0.1, latency_jitter_seconds=0.1) as server:
        started = time.monotonic()
        put(server, about(4))
        assert time.monotonic() - started >= 0.1


def test_another_model_can_say_that_it_answered() -> None:
    with serving(reported_model="model-of-july") as server:
        assert put(server, about(4)).reply.model == "model-of-july"


def test_an_answer_longer_than_asked_for_is_cut_off() -> None:
    with serving() as server:
        got = put(server, about(4, max_tokens=3))
    assert (got.reply.text, got.reply.finish, got.reply.answer_tokens) == ('{"even', "length", 3)


@pytest.mark.parametrize(
    "wrong", [{"wrong_answer_rate": 1.1}, {"certainty": -0.1}, {"latency_seconds": -1.0}, {"yes_bias": math.inf}]
)
def test_impossible_noise_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Noise(**wrong)
