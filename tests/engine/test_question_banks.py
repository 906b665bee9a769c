"""Answers of runs, as item analysis and filters read them."""

from __future__ import annotations

import pytest

from lookaway.core import Abstention, Reason, UnknownName, UserError
from lookaway.engine.question_banks import analyse_questions, bank_name, read_answers, verdicts
from lookaway.judges.question_bank import BankQuestion, QuestionBank
from lookaway.judges.question_writing import DIMENSIONS
from lookaway.reports.export.memobench_vqa import METRICS
from lookaway.suites.memobench.records import bank_key, clip_key
from tests.judges.question_banks import REAL, needs_real_banks
from tests.reports.test_memobench_vqa import answered
from tests.support.command import lookaway
from tests.support.memobench_runs import memobench_run

CASE = "synthetic/Nordic_003"
RIGHT = [[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]]
POSITIVE = [1, 0, 1, 0]
FAILED = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
BANK = QuestionBank(
    bank="Nordic-3",
    questions=[
        BankQuestion(id=number + 10, dimension=name, polarity="positive", question=f"Is it {number}?")
        for number, name in enumerate(DIMENSIONS)
    ],
)


def run_of(path, **answers):
    outcomes = {(model, CASE): found for model, found in answers.items()}
    return memobench_run(path, outcomes, metrics=list(METRICS))


@pytest.fixture
def run(tmp_path):
    return run_of(tmp_path / "run", truth=answered(RIGHT, POSITIVE), bad=answered(FAILED, POSITIVE))


def test_every_question_has_all_answers_about_every_video(run):
    answers = read_answers([run])
    assert [(judged.case, judged.question.id) for judged in answers.questions] == [(CASE, 10 + n) for n in range(4)]
    assert sorted(answers.models) == ["bad", "truth"]
    third = {model: passed for (model, _), passed in answers.questions[2].passed.items()}
    assert third == {"truth": (True, True, True), "bad": (False, True, True)}


def test_answers_of_several_runs_are_pooled(run, tmp_path):
    other = run_of(tmp_path / "other", truth=answered(RIGHT, POSITIVE))
    (first, *_) = read_answers([run, other]).questions
    assert len(first.passed) == 3


def test_runs_with_different_questions_cannot_be_pooled(run, tmp_path):
    other = run_of(tmp_path / "other", truth=answered(RIGHT, [1, 1, 1, 1]))
    with pytest.raises(UserError, match=r"question 11 of synthetic/Nordic_003 is not the one of the other runs"):
        read_answers([run, other])


def test_a_rollout_without_answers_is_counted_and_a_dimension_without_questions_is_not(tmp_path):
    refused = {metric: Abstention(Reason.JUDGE_FAILED, "no answer.") for metric in METRICS}
    run = run_of(tmp_path / "run", truth=answered([[1]], [1], DIMENSIONS[:1]), bad=refused)
    answers = read_answers([run])
    assert [reason for rollout, reason in answers.unanswered.items() if "bad" in rollout] == [
        "judge_failed: no answer."
    ]
    assert len(answers.unanswered) == 1


def test_a_run_without_questions_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no answers to questions of a bank"):
        read_answers([memobench_run(tmp_path / "run", {("truth", CASE): {}})])


def test_flags_follow_from_the_answers(run):
    analysed = analyse_questions(read_answers([run]), "truth")
    assert [[flag.kind for flag in one.item.flags] for one in analysed] == [
        [],
        ["no_discrimination"],
        ["no_discrimination"],
        [],
    ]


def test_a_failure_passes_by_most_of_its_repeats(run):
    on_truth, on_failure = verdicts(read_answers([run]), BANK, "truth", ["bad"])
    assert on_truth == dict.fromkeys(BANK.ids, True)
    assert on_failure == {10: False, 11: True, 12: True, 13: False}


def test_models_must_be_there_and_be_of_two_kinds(run, tmp_path):
    answers = read_answers([run])
    with pytest.raises(UnknownName, match="'thruth'"):
        analyse_questions(answers, "thruth")
    with pytest.raises(UserError, match="as the reference and as a failure"):
        analyse_questions(answers, "truth", ["truth"])
    alone = read_answers([run_of(tmp_path / "alone", truth=answered(RIGHT, POSITIVE))])
    with pytest.raises(UserError, match="known failures are needed, too"):
        analyse_questions(alone, "truth")


@pytest.mark.parametrize("clip", ["Nordic_003", "Zen_Garden_005", "007"])
def test_a_bank_is_named_so_that_the_dataset_finds_it(clip):
    part = "real" if clip.isdigit() else "synthetic"
    assert bank_key(f"{bank_name(f'{part}/{clip}')}.json") == clip_key(clip)


# Commands


@needs_real_banks
def test_a_published_file_is_filtered_by_its_own_answers(tmp_path):
    bank = REAL / "Havana-1-questions.csv"
    ours = lookaway("questions", "filter", bank, "-o", tmp_path / "ours.json")
    theirs = lookaway("questions", "filter", bank, "-o", tmp_path / "theirs.json", "--by-hint")
    assert (ours.code, theirs.code) == (0, 0)
    assert "5 of 24 questions kept" in ours.out
    assert "21 of 24 questions kept" in theirs.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["filter", "bank.json", "-o", "out.json"], "only published .csv files have answers of their own"),
        (["filter", "bank.json", "-o", "out.json", "--run", "run"], "filtered by --reference and --failures"),
        (
            ["filter", "bank.json", "-o", "out.json", "--run", "run", "--reference", "a"],
            "bank.json: the file of questions",
        ),
        (["filter", "Nordic-3-questions.csv", "-o", "out.json"], "the file of questions does not exist"),
        (["review", "bank.json", "-o", "out.csv", "--run", "run"], "Notes need both --run and --reference"),
        (["apply", "bank.json", "review.csv", "-o", "out.json"], "the file of questions does not exist"),
    ],
)
def test_a_command_that_cannot_work_says_why_with_exit_code_2(tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    result = lookaway("questions", *arguments)
    assert result.code == 2
    assert said in result.err
