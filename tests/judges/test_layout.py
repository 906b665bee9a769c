"""What stands around a question moves answers, so that it has a version in the lock and in the key of every reply."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lookaway.core import JudgeModel, Picture, describe, digest
from lookaway.judges.judge_check import Description
from lookaway.judges.judge_feature import CORRECTION
from lookaway.judges.openai_format import turns
from lookaway.judges.question import answer_schema
from lookaway.judges.question_verdicts import BankAnswer
from lookaway.judges.question_writing import WrittenQuestions
from lookaway.judges.rating import RatingAnswer
from lookaway.judges.reobservation import ReobservationAnswer
from lookaway.judges.settings import Ready
from lookaway.judges.trigger_verdict import TriggerAnswer
from tests.judges.requests import question

WORDS_OF_VERSION = {1: "c23388efba10b629e494b88dd96be7339ba4c8befe573b316674ede392ba58f9"}

ANSWERS = (
    BankAnswer,
    Description,
    RatingAnswer,
    Ready,
    ReobservationAnswer,
    TriggerAnswer,
    WrittenQuestions,
)
SCHEMAS_OF_VERSION = {1: "3deb307a62a61c66892b09379c1d0f7f94e01d8376a238c0e6de02ce9ebc84b5"}


def words(media: str) -> list[object]:
    """Everything that a judge reads, with pictures left out."""
    pixels = np.zeros((2, 2, 3), np.uint8)
    request = question(
        judge=JudgeModel(model="asked", wording="text", media=media),
        pictures=(Picture(0, 0.0, pixels), Picture(7, 1.25, pixels)),
        material="<material>",
        schema={"name": "A", "strict": True, "schema": {"type": "object"}},
        corrections=(("bad", CORRECTION.format(complaint="Empty.")),),
    )
    return [[role, [part if isinstance(part, str) else len(part) for part in parts]] for role, parts in turns(request)]


def test_other_words_around_a_question_need_another_version():
    assert digest([words("png"), words("video")]) == WORDS_OF_VERSION[JudgeModel.version]


def test_other_words_in_the_schema_of_an_answer_need_another_version():
    assert digest([answer_schema(answer) for answer in ANSWERS]) == SCHEMAS_OF_VERSION[JudgeModel.version]


def test_the_version_is_in_the_lock_and_in_the_key_of_a_reply(monkeypatch: pytest.MonkeyPatch):
    locked, key = describe(JudgeModel()), question().key()
    monkeypatch.setattr(JudgeModel, "version", JudgeModel.version + 1)
    assert describe(JudgeModel()) != locked
    assert question().key() != key


def test_every_field_of_a_judge_that_is_not_how_often_or_who_answered_is_in_the_key_of_a_reply():
    changes = {"backend": "local", "model": "x", "wording": "text", "media": "jpeg", "extra": '{"a":1}'}
    keys = {question(judge=dataclasses.replace(JudgeModel(), **{name: value})).key() for name, value in changes.items()}
    assert len(keys | {question(judge=JudgeModel()).key()}) == len(changes) + 1
