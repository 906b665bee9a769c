from __future__ import annotations

import json

import numpy as np
import pytest

from lookaway.core import Picture, Reason, Unmeasurable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question_bank import read_question_bank
from lookaway.judges.question_writing import DIMENSIONS, write_questions
from tests.judges.question_banks import REAL_BANKS, as_bank, needs_real_banks, real_row
from tests.judges.scripted_client import JUDGE, completion, saying

PICTURE = Picture(0, 0.0, np.zeros((4, 6, 3), np.uint8))
TEXT = "The observer turns away from the fox and back."


def written(change=None, *, drop: int = 0) -> dict:
    """24 good questions, some of which are changed by their place."""
    entries = [
        {
            "dimension": dimension,
            "polarity": "positive" if number % 2 else "negative",
            "question": f"Is fact {number} of {dimension} to be seen?",
        }
        for dimension in DIMENSIONS
        for number in range(6)
    ]
    for place, fields in (change or {}).items():
        entries[place] = {**entries[place], **fields}
    return completion({"questions": entries[: len(entries) - drop]})


def write(*answers):
    client = saying(*answers)
    return write_questions(client, JUDGE, PICTURE, TEXT), client.requests


def test_what_the_judge_wrote_becomes_a_bank_with_ids_of_its_own():
    bank, requests = write(written())
    assert bank.ids == list(range(1, 25))
    assert [question.dimension for question in bank.questions] == [name for name in DIMENSIONS for _ in range(6)]
    assert {question.polarity for question in bank.questions} == {"positive", "negative"}
    assert bank.questions[0].question == "Is fact 0 of Instruction Following to be seen?"
    assert len(requests) == 1


def test_a_written_bank_can_be_read_again(tmp_path):
    bank, _ = write(written())
    path = tmp_path / "bank.json"
    path.write_text(bank.model_dump_json(), encoding="utf-8")
    assert read_question_bank(path) == bank


def test_the_judge_sees_the_first_frame_and_the_text_as_material():
    _, (request,) = write(written())
    assert request.pictures == (PICTURE,)
    assert json.loads(request.material.split("\n")[1]) == TEXT
    assert request.system == Prompt.named("question_writing_system").text
    assert "fox" not in request.instruction + request.system
    assert request.max_tokens >= 24 * 100


WRONG = {
    "one missing": written(drop=1),
    "one moved to another dimension": written({0: {"dimension": "Physics Adherence"}}),
    "an unknown dimension": written({0: {"dimension": "Memory"}}),
    "one polarity alone": written({number: {"polarity": "positive"} for number in range(6)}),
    "an unknown polarity": written({3: {"polarity": "Positive"}}),
    "one twice": written({1: {"question": "is FACT  0 of Instruction Following to be seen?"}}),
    "one empty": written({1: {"question": "               "}}),
    "one too long": written({1: {"question": "x" * 301}}),
    "an id of its own": written({1: {"id": 5}}),
    "nothing": completion({"questions": []}),
    "prose": completion("Here are some questions."),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_bank_that_is_not_what_was_asked_for_is_asked_for_again_and_then_failed(wrong):
    bank, requests = write(wrong, written())
    assert (len(bank.questions), len(requests)) == (24, 2)
    with pytest.raises(Unmeasurable, match=r"^question_writing: ") as caught:
        write(wrong, wrong)
    assert caught.value.reason is Reason.JUDGE_FAILED


def test_the_complaint_says_what_is_counted():
    _, requests = write(written({23: {"dimension": "Continuity of Memory"}}), written())
    complaint = requests[1].corrections[0][1]
    assert "Continuity of Memory has 7 questions, expected 6" in complaint
    assert "Physics Adherence has 5 questions, expected 6" in complaint


def test_a_refusal_to_write_is_judge_refused():
    with pytest.raises(Unmeasurable) as caught:
        write(completion(None, refusal="I cannot look at people."))
    assert caught.value.reason is Reason.JUDGE_REFUSED


def test_a_text_that_is_too_long_is_not_put_before_a_judge():
    client = saying()
    with pytest.raises(Unmeasurable) as caught:
        write_questions(client, JUDGE, PICTURE, "x" * 8000)
    assert caught.value.reason is Reason.INVALID_INPUT
    assert client.requests == []


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
def test_questions_that_were_really_written_are_accepted(name):
    listed = as_bank(real_row(name)["Start Questions"])
    spoken = [{key: entry[key] for key in ("dimension", "polarity", "question")} for entry in listed]
    bank, _ = write(completion({"questions": spoken}))
    assert [question.question for question in bank.questions] == [entry["question"] for entry in listed]
