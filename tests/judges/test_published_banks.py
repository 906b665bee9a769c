"""MemoBench's published banks, read and scored as they are, and the two ways of filtering them."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from lookaway.core import ArtifactError, Feature, Reason, Score, UserError
from lookaway.judges.question_bank import (
    STAGES,
    BankQuestion,
    QuestionBank,
    read_published_bank,
    read_question_bank,
)
from lookaway.judges.question_filter import (
    FAILS_ON_TRUTH,
    MISSES_FAILURE,
    MOVED_BY_HINT,
    filter_published_bank,
    filter_questions,
    keep_unmoved_by_hint,
)
from lookaway.judges.question_writing import DIMENSIONS
from lookaway.metrics.judge_metrics import QuestionPassRate
from tests.judges.question_banks import HINTED, ON_FAILURE, ON_TRUTH, REAL, REAL_BANKS, needs_real_banks, real_row
from tests.judges.scripted_client import rollout_of


def published(name):
    return read_published_bank(REAL / f"{name}-questions.csv")


def official_scores(row, column):
    """Spelled out as the published scorer does: passed of answered, by the polarity of the bank."""
    polarity = {entry["ID"]: entry["Dimension Polarity"] for entry in row["Final questions"]}
    counts = {}
    for entry in row[column]:
        if entry["ID"] in polarity:
            passed, answered = counts.get(entry["Dimension"], (0, 0))
            is_pass = entry["Answer"].lower() == ("yes" if polarity[entry["ID"]] == "Positive" else "no")
            counts[entry["Dimension"]] = passed + is_pass, answered + 1
    return {dimension: round(passed / answered, 4) for dimension, (passed, answered) in counts.items()}


def our_scores(bank, stage):
    """The metric, for the published answers to the final questions."""
    answers = {answer.id: answer for answer in bank.answers[stage]}
    questions = bank.final.questions
    feature = Feature(
        {
            "says_yes": np.array([[answers[question.id].says_yes] for question in questions]),
            "is_answered": np.ones((len(questions), 1), np.bool_),
            "question_ids": np.array([question.id for question in questions]),
            "is_positive": np.array([question.is_positive for question in questions]),
        },
        {
            "dimensions": [question.dimension for question in questions],
            "questions": [question.question for question in questions],
            "reasons": [[answers[question.id].reasoning for question in questions]],
        },
    )
    found = {}
    for dimension in DIMENSIONS:
        outcome = QuestionPassRate(dimension=dimension).measure(rollout_of(), {"question_verdicts": feature})
        assert isinstance(outcome, Score)
        found[dimension] = round(outcome.value, 4)
    return found


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
@pytest.mark.parametrize(("stage", "column"), list(zip(STAGES, (ON_TRUTH, ON_FAILURE, HINTED), strict=True)))
def test_a_published_bank_scores_as_the_published_scorer_does(name, stage, column):
    assert our_scores(published(name), stage) == official_scores(real_row(name), column)


@needs_real_banks
def test_the_ground_truth_passes_all_and_the_failures_nearly_all_of_the_published_banks():
    banks = [published(name) for name in REAL_BANKS]
    assert all(set(our_scores(bank, "ground_truth").values()) == {1.0} for bank in banks)
    failed = {bank.final.bank: our_scores(bank, "failure") for bank in banks}
    means = {dimension: np.mean([scores[dimension] for scores in failed.values()]) for dimension in DIMENSIONS}
    assert means == pytest.approx(
        {
            "Instruction Following": 1.0,
            "Object and Background": 1.0,
            "Continuity of Memory": 0.9,
            "Physics Adherence": 0.95,
        }
    )
    assert [sum(bank.passes("failure")[number] for number in bank.final.ids) for bank in banks] == [18, 18, 16, 16]


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
def test_no_stored_verdict_of_these_banks_contradicts_its_answer(name):
    bank = published(name)
    assert [bank.contradictions(stage) for stage in STAGES] == [[], [], []]


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
def test_the_published_filter_keeps_exactly_the_published_questions(name):
    bank = published(name)
    assert list(filter_published_bank(bank, by_hint=True).kept) == bank.final.ids


@needs_real_banks
def test_of_96_questions_71_are_kept_as_published_and_5_that_penalise_the_failure():
    banks = [published(name) for name in REAL_BANKS]
    assert sum(len(bank.written.ids) for bank in banks) == 96
    assert sum(sum(bank.stated_passes("ground_truth").values()) for bank in banks) == 92
    kept = [(filter_published_bank(bank, by_hint=True).kept, filter_published_bank(bank).kept) for bank in banks]
    assert [len(theirs) for theirs, _ in kept] == [21, 18, 16, 16]
    assert [len(ours) for _, ours in kept] == [5, 0, 0, 0]
    assert len(set(kept[0][0]) & set(kept[0][1])) == 3


@needs_real_banks
@pytest.mark.parametrize("name", REAL_BANKS)
def test_a_published_file_is_a_bank_as_it_is(name):
    bank = read_question_bank(REAL / f"{name}-questions.csv")
    assert bank == published(name).final
    assert (bank.bank, bank.version) == (name, 1)
    assert {question.provenance.source for question in bank.questions} == {f"{name}-questions.csv"}


# Files that are not as published


def entry(number, **more):
    shared = {"Dimension": "Physics Adherence", "Dimension Polarity": "Positive", "Question": f"Is it {number}?"}
    return {"ID": number, **shared, **more}


def answer(number, said="Yes", verdict="Pass"):
    return entry(number, Answer=said, Verdict=verdict, Reasoning="seen")


def write_published(folder, name="Nordic-3", **changes):
    both = [answer(1), answer(2)]
    row = {
        "scene": "Nordic",
        "video_id": "3",
        "Start Questions": [entry(1), entry(2)],
        ON_TRUTH: both,
        ON_FAILURE: both,
        HINTED: both,
        "Final questions": [entry(1)],
        **changes,
    }
    path = folder / f"{name}-questions.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(row)
        writer.writerow([value if isinstance(value, str) else json.dumps(value) for value in row.values()])
    return path


def test_a_verdict_that_contradicts_its_answer_is_named_and_the_answer_counts(tmp_path):
    bank = read_published_bank(write_published(tmp_path, **{ON_TRUTH: [answer(1, "No", "Pass"), answer(2)]}))
    assert bank.contradictions("ground_truth") == [1]
    assert bank.passes("ground_truth") == {1: False, 2: True}
    assert bank.stated_passes("ground_truth") == {1: True, 2: True}
    assert filter_published_bank(bank).dropped[1] == FAILS_ON_TRUTH
    assert filter_published_bank(bank, by_hint=True).kept == (1, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scene": "Havana"}, "the row is about another clip, expected Nordic-3"),
        ({"Start Questions": "5"}, "expected a list of questions"),
        ({"Start Questions": "["}, "Start Questions: not valid JSON"),
        ({"Start Questions": [entry("1")]}, "Start Questions: ID: "),
        ({"Start Questions": [{**entry(1), "Dimension Polarity": "positive"}]}, "Dimension Polarity"),
        ({"Final questions": [entry(1, Question="Another?")]}, "Final questions: the ids 1 are not among"),
        ({"Final questions": []}, "List should have at least 1 item"),
        ({ON_FAILURE: [answer(9)]}, "Evaluation on failure: the ids 9 are not among"),
        ({ON_FAILURE: [answer(1), answer(1)]}, "answered more than once"),
        ({ON_TRUTH: [answer(1, "No.")]}, "Answer"),
    ],
)
def test_a_published_file_that_is_not_whole_is_refused(tmp_path, changes, message):
    path = write_published(tmp_path, **changes)
    with pytest.raises(ArtifactError, match=r"^Nordic-3-questions\.csv: ") as caught:
        read_question_bank(path)
    assert caught.value.reason is Reason.INVALID_INPUT
    assert message in str(caught.value)


def test_a_published_file_needs_its_name_and_one_row(tmp_path):
    path = write_published(tmp_path)
    shutil.copy(path, other := tmp_path / "questions.csv")
    with pytest.raises(ArtifactError, match="expected a name like Havana-1"):
        read_published_bank(other)
    path.write_text("scene,video_id\n")
    with pytest.raises(ArtifactError, match="found 0 rows of data, expected 1"):
        read_published_bank(path)
    with pytest.raises(ArtifactError, match="does not exist"):
        read_published_bank(tmp_path / "Nordic-4-questions.csv")


# Filters

BANK = QuestionBank(
    bank="Nordic-3",
    questions=[
        BankQuestion(id=number, dimension="memory", polarity="positive", question=f"Is it {number}?")
        for number in range(1, 5)
    ],
)


def test_a_question_is_kept_if_the_truth_passes_and_the_failure_does_not():
    found = filter_questions(BANK, {1: True, 2: True, 3: False, 4: False}, {1: True, 2: False, 3: True, 4: False})
    assert found.kept == (2,)
    assert found.dropped == {1: MISSES_FAILURE, 3: FAILS_ON_TRUTH, 4: FAILS_ON_TRUTH}
    kept = found.apply(BANK)
    assert (kept.bank, kept.version, kept.ids) == ("Nordic-3", 2, [2])


def test_as_published_a_question_is_kept_if_a_hint_does_not_move_its_verdict():
    truth = {1: True, 2: True, 3: True, 4: False}
    found = keep_unmoved_by_hint(
        BANK, truth, {1: True, 2: False, 3: True, 4: True}, {1: True, 2: False, 3: False, 4: True}
    )
    assert found.kept == (1, 2)
    assert found.dropped == {3: MOVED_BY_HINT, 4: FAILS_ON_TRUTH}


def test_a_question_without_an_answer_is_an_error_and_not_dropped():
    with pytest.raises(UserError, match="the questions 2, 4 have no answer"):
        filter_questions(BANK, {1: True, 2: True, 3: True}, {1: False, 3: True, 4: True})


def test_a_question_that_the_truth_does_not_pass_needs_no_answer_about_the_failure():
    assert filter_questions(BANK, {1: False, 2: True, 3: False, 4: False}, {2: False}).kept == (2,)


def test_a_bank_of_which_nothing_is_kept_cannot_be_written():
    found = filter_questions(BANK, dict.fromkeys(BANK.ids, True), dict.fromkeys(BANK.ids, True))
    with pytest.raises(UserError, match="Nordic-3: the filter keeps none of its 4 questions"):
        found.apply(BANK)
