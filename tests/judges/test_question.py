from __future__ import annotations

import json
import time
from typing import Annotated

import numpy as np
import pytest
from pydantic import Field

from lookaway.core import JudgeModel, Picture, Reason, Sampling, Unmeasurable
from lookaway.judges.errors import Unreadable
from lookaway.judges.judge_feature import wait_for_answer
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion, YesNoQuestion
from tests.judges.scripted_client import JUDGE, completion, reply, saying

SYSTEM = Prompt.named("system")
PICTURES = (Picture(3, 0.25, np.zeros((4, 6, 3), np.uint8)),)
GOOD = {"sure": True, "share": 0.5, "count": 3, "why": "frame 1"}


class Opinion(Answer):
    sure: bool
    share: Annotated[float, Field(ge=0, le=1)]
    count: int
    why: Annotated[str, Field(max_length=20)]


QUESTION = TypedQuestion(name="opinion", prompts=(Prompt.named("trigger"), Prompt.named("rating")), answer=Opinion)


def hear(*answers, question=QUESTION, judge=JUDGE):
    """The answer and the requests, as a recipe would hear it."""
    client = saying(*answers)
    request = question.request(SYSTEM, judge, PICTURES, 0)
    keys = []
    try:
        return wait_for_answer(client, question, request, client.ask(request), keys), client.requests, keys
    except Unmeasurable as error:
        return error, client.requests, keys


def test_a_request_holds_all_prompts_in_order_and_the_schema():
    request = QUESTION.request(SYSTEM, JUDGE, PICTURES, 2)
    parts = [Prompt.named("trigger").text.strip(), Prompt.named("rating").text.strip()]
    assert request.instruction == "\n\n".join(parts)
    assert (request.system, request.pictures, request.repeat, request.seed) == (SYSTEM.text, PICTURES, 2, 2)
    assert request.schema["name"] == "Opinion"
    assert request.schema["schema"]["required"] == ["sure", "share", "count", "why"]
    assert request.schema["schema"]["additionalProperties"] is False
    assert request.max_tokens == 1024


def test_a_long_answer_gets_more_room_than_the_sampling_gives():
    question = TypedQuestion(name="long", prompts=(), answer=Opinion, more_tokens=500)
    judge = JudgeModel(model="judge", sampling=Sampling(max_tokens=100))
    assert question.request(SYSTEM, judge, (), 0).max_tokens == 600


def test_a_question_with_yes_or_no_asks_for_one_word_and_its_rivals():
    request = YesNoQuestion(name="probe", prompts=(SYSTEM,), max_doubt=1e-3).request(SYSTEM, JUDGE, PICTURES, 0)
    assert (request.max_tokens, request.token_choices, request.schema) == (1, 20, None)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"  {json.dumps(GOOD, indent=2)}\n",
        f"```json\n{json.dumps(GOOD)}\n```",
        f"\n```\n\n{json.dumps(GOOD, indent=2)}\n\n  ```  \n",
    ],
)
def test_an_object_is_read_bare_or_between_fences(text):
    assert QUESTION.read(reply(text)) == Opinion(**GOOD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "Sure! Here it is: " + json.dumps(GOOD),
        json.dumps(GOOD) + " I hope this helps.",
        json.dumps(GOOD) + json.dumps(GOOD),
        json.dumps(GOOD)[:-3],
        f"```json\n{json.dumps(GOOD)}",
        f"```json {json.dumps(GOOD)} ```",
        f"```python\n{json.dumps(GOOD)}\n```",
        f"```json\n{json.dumps(GOOD)}\n``` It is so.",
        json.dumps([GOOD]),
        "null",
        "true",
        "[" * 100_000,
        '{"sure": true, "share": 0.5, "count": ' + "9" * 5000 + ', "why": "frame 1"}',
    ],
)
def test_anything_around_or_instead_of_one_object_cannot_be_read(text):
    with pytest.raises(Unreadable):
        QUESTION.read(reply(text))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"sure": "true"}, "sure"),
        ({"sure": 1}, "sure"),
        ({"sure": None}, "sure"),
        ({"share": "0.5"}, "share"),
        ({"share": 1.01}, "share"),
        ({"share": True}, "share"),
        ({"count": 3.0}, "count"),
        ({"count": 2.5}, "count"),
        ({"count": "3"}, "count"),
        ({"count": True}, "count"),
        ({"why": "x" * 21}, "why"),
        ({"why": "\ud800"}, "why"),
        ({"why": ["frame 1"]}, "why"),
        ({"verdict": "pass"}, "verdict"),
    ],
)
def test_a_wrong_type_or_a_field_more_is_not_forgiven(change, complaint):
    with pytest.raises(Unreadable, match=complaint):
        QUESTION.read(reply({**GOOD, **change}))


@pytest.mark.parametrize("name", GOOD)
def test_a_field_less_is_not_filled_in(name):
    with pytest.raises(Unreadable, match=f"{name}: Field required"):
        QUESTION.read(reply({key: value for key, value in GOOD.items() if key != name}))


@pytest.mark.parametrize(
    ("number", "complaint"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("Infinity", "is not a JSON number"),
        ("-Infinity", "is not a JSON number"),
        ("1e999", "share: "),
    ],
)
def test_what_is_no_number_is_not_a_share(number, complaint):
    text = json.dumps(GOOD).replace("0.5", number)
    with pytest.raises(Unreadable, match=complaint):
        QUESTION.read(reply(text))


def test_a_whole_number_is_a_share_too():
    assert QUESTION.read(reply({**GOOD, "share": 1})).share == 1.0


def test_an_answer_that_was_cut_off_is_told_to_have_been():
    with pytest.raises(Unreadable, match="cut off"):
        QUESTION.read(reply(json.dumps(GOOD)[:-9], finish="length"))
    with pytest.raises(Unreadable) as caught:
        QUESTION.read(reply(json.dumps(GOOD)[:-9]))
    assert "cut off" not in str(caught.value)


def test_a_fence_with_thousands_of_blank_lines_takes_no_time():
    begin = time.process_time()
    with pytest.raises(Unreadable):
        QUESTION.read(reply("```" + "\n" * 20_000 + "x"))
    assert time.process_time() - begin < 2


def test_a_good_answer_is_asked_for_once():
    answer, requests, keys = hear(completion(GOOD))
    assert answer == Opinion(**GOOD)
    assert keys == [requests[0].key()]
    assert len(requests) == 1


def test_an_unreadable_answer_is_corrected_once_with_what_was_wrong_about_it():
    bad = json.dumps({**GOOD, "count": "three"})
    answer, requests, keys = hear(completion(bad), completion(GOOD))
    assert answer == Opinion(**GOOD)
    first, second = requests
    assert first.corrections == ()
    ((said, complaint),) = second.corrections
    assert said == bad
    assert "count: Input should be a valid integer" in complaint
    assert (second.instruction, second.material, second.system) == (first.instruction, first.material, first.system)
    assert keys == [first.key(), second.key()]
    assert first.key() != second.key()


def test_a_second_unreadable_answer_is_judge_failed():
    error, requests, _ = hear(completion("maybe"), completion("perhaps"), completion(GOOD))
    assert error.reason is Reason.JUDGE_FAILED
    assert str(error).startswith("opinion: neither the judge's answer nor its correction can be read.")
    assert len(requests) == 2


def test_a_check_of_ones_own_is_corrected_like_a_wrong_type():
    def check(answer: Opinion) -> None:
        if answer.count != 4:
            raise Unreadable("Four are expected.")

    question = TypedQuestion(name="four", prompts=(), answer=Opinion, check=check)
    answer, requests, _ = hear(completion(GOOD), completion({**GOOD, "count": 4}), question=question)
    assert answer.count == 4
    assert "Four are expected." in requests[1].corrections[0][1]
    error, requests, _ = hear(completion(GOOD), completion(GOOD), question=question)
    assert (error.reason, len(requests)) == (Reason.JUDGE_FAILED, 2)


REFUSALS = {
    "field": completion(None, refusal="I cannot look at people."),
    "field beside an answer": completion(GOOD, refusal="I cannot look at people."),
    "filter": completion("", finish="content_filter"),
    "filter amid an answer": completion(GOOD, finish="content_filter"),
    **{
        text: completion(text)
        for text in (
            "I'm sorry, but I can't help with that.",
            "I\u2019m sorry, but no.",
            "Sorry, I cannot judge this video.",
            "I am unable to assist.",
            "I cannot tell who that is.",
            "I can\u2019t assist with that.",
            "I must decline.",
            "I won't do that.",
            "As an AI model, I do not see videos.",
        )
    },
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_in_any_form_is_judge_refused_and_is_not_corrected(refusal):
    error, requests, _ = hear(refusal, completion(GOOD))
    assert error.reason is Reason.JUDGE_REFUSED
    assert len(requests) == 1


def test_a_refusal_of_the_correction_is_judge_refused():
    error, requests, _ = hear(completion("maybe"), REFUSALS["field"])
    assert (error.reason, len(requests)) == (Reason.JUDGE_REFUSED, 2)


@pytest.mark.parametrize("text", ["I can see the cup in frame 3.", "The sorry state of the cup is clear."])
def test_prose_that_is_no_apology_is_corrected(text):
    answer, requests, _ = hear(completion(text), completion(GOOD))
    assert (answer, len(requests)) == (Opinion(**GOOD), 2)


def test_an_answer_that_speaks_of_sorrow_is_no_refusal():
    answer, _, _ = hear(completion({**GOOD, "why": "I am sorry: no cup"}))
    assert answer.why == "I am sorry: no cup"


def test_another_models_answer_is_judge_failed_and_is_not_corrected():
    error, requests, _ = hear(completion(GOOD, model="judge-of-june"), completion(GOOD))
    assert (error.reason, len(requests)) == (Reason.JUDGE_FAILED, 1)
    assert "'judge-of-june', expected 'judge-of-may'" in str(error)


def test_another_models_correction_is_judge_failed():
    error, _, _ = hear(completion("maybe"), completion(GOOD, model="judge-of-june"))
    assert error.reason is Reason.JUDGE_FAILED
    assert "another model" in str(error)


def test_where_no_model_is_expected_any_may_answer():
    answer, _, _ = hear(completion(GOOD, model="anyone"), judge=JudgeModel(model="judge"))
    assert answer == Opinion(**GOOD)


@pytest.mark.parametrize("answer", [{}, [], None, "yes", {"choices": []}, {"choices": [{}]}, {"choices": [None]}])
def test_what_is_no_completion_is_judge_failed(answer):
    error, requests, _ = hear(answer)
    assert (error.reason, len(requests)) == (Reason.JUDGE_FAILED, 1)


def test_what_kept_the_judge_from_answering_keeps_its_reason_and_names_the_question():
    error, _, _ = hear(Unmeasurable(Reason.NO_JUDGE, "nobody is there."))
    assert (error.reason, str(error)) == (Reason.NO_JUDGE, "opinion: nobody is there.")


def test_a_bug_is_not_taken_for_a_finding():
    with pytest.raises(ZeroDivisionError):
        hear(ZeroDivisionError())
