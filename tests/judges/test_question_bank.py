from __future__ import annotations

import json
import os
from collections import Counter

import pytest

from lookaway.core import ArtifactError, Reason
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.question_bank import (
    MAX_BYTES,
    MAX_QUESTIONS,
    BankQuestion,
    Provenance,
    QuestionBank,
    read_question_bank,
    write_question_bank,
)
from tests.judges.question_banks import REAL_BANKS, SMALL, as_bank, needs_real_banks, real_row, write_bank


@pytest.fixture
def path(tmp_path):
    return tmp_path / "bank.json"


def why(path) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        read_question_bank(path)
    return caught.value


def numbered(count: int) -> list[dict]:
    return [{**SMALL[0], "id": number} for number in range(count)]


def test_a_bank_keeps_its_questions_in_order(path):
    bank = read_question_bank(write_bank(path))
    assert bank.ids == [7, 2, 5]
    assert [question.is_positive for question in bank.questions] == [True, False, True]
    assert [question.model_dump(exclude_none=True) for question in bank.questions] == SMALL


def test_a_judge_reads_neither_dimension_nor_polarity(path):
    material = read_question_bank(write_bank(path)).material()
    assert material == {"questions": [{"id": entry["id"], "question": entry["question"]} for entry in SMALL]}


def test_a_bank_that_is_not_there_is_missing(path):
    assert why(path).reason is Reason.MISSING_INPUT
    assert why(path.parent).reason is Reason.MISSING_INPUT


@pytest.mark.parametrize(
    "change",
    [
        {"id": "7"},
        {"id": 7.0},
        {"id": True},
        {"id": -1},
        {"id": 10**6},
        {"dimension": ""},
        {"dimension": "   "},
        {"dimension": "x" * 101},
        {"dimension": None},
        {"polarity": "Positive"},
        {"polarity": "yes"},
        {"question": ""},
        {"question": "\n\t "},
        {"question": "x" * 1001},
        {"question": ["Is it there?"]},
    ],
)
def test_a_question_of_another_shape_is_refused(path, change):
    error = why(write_bank(path, [{**SMALL[0], **change}]))
    assert error.reason is Reason.INVALID_INPUT
    assert next(iter(change)) in str(error)


def test_a_question_with_a_part_that_is_not_known_is_refused_without_its_name(path):
    error = why(write_bank(path, [{**SMALL[0], "answer": "yes"}]))
    assert error.reason is Reason.INVALID_INPUT
    assert "an unknown field" in str(error)
    assert "answer" not in str(error)


@pytest.mark.parametrize("name", SMALL[0])
def test_a_question_without_one_of_its_parts_is_refused(path, name):
    error = why(write_bank(path, [{key: value for key, value in SMALL[0].items() if key != name}]))
    assert f"questions.0.{name}: Field required" in str(error)


def test_an_id_that_stands_there_twice_is_refused(path):
    error = why(write_bank(path, [*SMALL, {**SMALL[1], "question": "Another one?"}]))
    assert error.reason is Reason.INVALID_INPUT
    assert "the ids 2 appear more than once" in str(error)


def test_a_bank_holds_one_to_a_hundred_questions(path):
    assert why(write_bank(path, [])).reason is Reason.INVALID_INPUT
    assert len(read_question_bank(write_bank(path, numbered(MAX_QUESTIONS))).questions) == 100
    assert why(write_bank(path, numbered(MAX_QUESTIONS + 1))).reason is Reason.INVALID_INPUT


def test_a_bank_says_nothing_more_than_its_questions(path):
    assert why(write_bank(path, judge="be kind")).reason is Reason.INVALID_INPUT


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"questions": NaN}', "[" * 100_000, '{"questions": 5}', json.dumps(SMALL)]
)
def test_what_is_no_bank_is_refused(path, text):
    path.write_text(text, encoding="utf-8")
    assert why(path).reason is Reason.INVALID_INPUT


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b'{"questions": "\xc3"}'])
def test_what_is_no_text_is_refused(path, data):
    path.write_bytes(data)
    assert why(path).reason is Reason.INVALID_INPUT


def test_a_message_names_the_file_and_not_where_it_lies(path):
    path.write_text("{", encoding="utf-8")
    assert str(why(path)).startswith("bank.json: not valid JSON")
    assert str(path.parent) not in str(why(path))
    assert str(why(write_bank(path, 5))).startswith("bank.json: questions: ")


def test_half_a_character_is_refused(path):
    path.write_text(json.dumps({"questions": [{**SMALL[0], "question": "\ud800?"}]}), encoding="utf-8")
    assert why(path).reason is Reason.INVALID_INPUT


def test_a_file_that_is_too_large_is_not_read(path):
    write_bank(path)
    os.truncate(path, MAX_BYTES)
    assert "not valid JSON" in str(why(path))
    os.truncate(path, MAX_BYTES + 1)
    assert f"{MAX_BYTES + 1} bytes" in str(why(path))


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
@pytest.mark.parametrize("column", ["Start Questions", "Final questions"])
def test_the_questions_of_real_banks_fit_and_can_be_shown(path, name, column):
    listed = real_row(name)[column]
    bank = read_question_bank(write_bank(path, as_bank(listed)))
    assert bank.ids == [entry["ID"] for entry in listed]
    assert [question.question for question in bank.questions] == [entry["Question"] for entry in listed]
    assert too_long(bank.material()) is None
    if column == "Start Questions":
        assert set(Counter(question.dimension for question in bank.questions).values()) == {6}


# Versions


def test_a_written_bank_has_a_name_a_version_and_the_hash_of_its_content(path):
    bank = QuestionBank(bank="Havana-1", questions=read_question_bank(write_bank(path)).questions)
    write_question_bank(bank, path)
    read = read_question_bank(path)
    assert (read.bank, read.version, read.sha256) == ("Havana-1", 1, bank.content_sha256)
    assert read.questions == bank.questions
    assert read.content_sha256 == bank.content_sha256


def test_a_changed_question_version_or_name_is_another_hash():
    bank = QuestionBank(bank="one", questions=[BankQuestion(**SMALL[0])])
    edited = BankQuestion(**SMALL[0], provenance=Provenance(origin="edited", source="review.csv"))
    others = [
        bank.next_version(bank.questions),
        QuestionBank(bank="two", questions=bank.questions),
        QuestionBank(bank="one", questions=[edited]),
        QuestionBank(bank="one", questions=[BankQuestion(**{**SMALL[0], "polarity": "negative"})]),
    ]
    assert len({each.content_sha256 for each in (bank, *others)}) == 5
    assert others[0].version == 2


def test_a_bank_that_was_changed_by_hand_is_refused(path):
    write_question_bank(QuestionBank(bank="one", questions=[BankQuestion(**SMALL[0])]), path)
    path.write_text(path.read_text().replace("still there", "still here"))
    error = why(path)
    assert error.reason is Reason.INVALID_INPUT
    assert "it was changed. Change a bank by a review" in str(error)
