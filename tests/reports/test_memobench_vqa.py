from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from lookaway.core import Abstention, Feature, Reason, UserError
from lookaway.judges.question_writing import DIMENSIONS
from lookaway.metrics.judge_metrics import QuestionPassRate
from lookaway.reports.export.memobench_vqa import METRICS, export_memobench_answers
from tests.judges.scripted_client import rollout_of
from tests.support.memobench_runs import memobench_run


def answered(says_yes, is_positive, dimensions=DIMENSIONS):
    """The outcomes of all metrics for some answers, [questions][repeats]."""
    count = len(says_yes)
    feature = Feature(
        {
            "says_yes": np.array(says_yes, np.bool_),
            "is_answered": np.ones_like(says_yes, np.bool_),
            "question_ids": np.arange(count) + 10,
            "is_positive": np.array(is_positive, np.bool_),
        },
        {
            "dimensions": list(dimensions),
            "questions": [f"Is it {number}?" for number in range(count)],
            "reasons": [[f"repeat {repeat}"] * count for repeat in range(len(says_yes[0]))],
        },
    )
    return {
        metric: QuestionPassRate(dimension=name).measure(rollout_of(), {"question_verdicts": feature})
        for metric, name in METRICS.items()
    }


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def run(tmp_path):
    passed = answered([[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]], [1, 0, 1, 0])
    refused = {metric: Abstention(Reason.JUDGE_REFUSED, "=no.") for metric in METRICS}
    outcomes = {("alpha", "synthetic/Zen_Garden_005"): passed, ("alpha", "real/007"): refused}
    return memobench_run(tmp_path / "run", outcomes, metrics=list(METRICS))


def test_a_clip_has_its_answers_and_its_score_in_each_dimension(run, tmp_path):
    written = export_memobench_answers(run, tmp_path / "out")
    folder = tmp_path / "out/vqa_results/alpha"
    assert written == [folder / "Zen_Garden-5.csv", folder / "overall.csv"]
    (row,) = table(folder / "Zen_Garden-5.csv")
    assert tuple(row) == ("scene", "video_id", "folder", "Evaluation", "score")
    assert (row["scene"], row["video_id"], row["folder"]) == ("Zen_Garden", "5", "Zen_Garden_005")
    assert json.loads(row["score"]) == dict(zip(DIMENSIONS, (0.6667, 1.0, 0.3333, 1.0), strict=True))
    first, _, third, _ = json.loads(row["Evaluation"])
    assert first == {
        "ID": 10,
        "Dimension": "Instruction Following",
        "Dimension Polarity": "Positive",
        "Question": "Is it 0?",
        "Answer": "Yes",
        "Verdict": "Pass",
        "Reasoning": "repeat 0",
    }
    assert (third["Answer"], third["Verdict"]) == ("No", "Fail")


def test_a_clip_without_answers_has_no_score_and_its_reason_in_the_overall_table(run, tmp_path):
    export_memobench_answers(run, tmp_path / "out")
    refused, scored = table(tmp_path / "out/vqa_results/alpha/overall.csv")
    assert (refused["scene"], refused["video_id"], refused["Physics Adherence"]) == ("real", "7", "")
    assert "Physics Adherence: judge_refused: =no." in refused["error"]
    assert (scored["Physics Adherence"], scored["error"]) == ("1.0", "")


def test_a_dimension_without_questions_is_left_out_and_no_error(tmp_path):
    outcomes = {("alpha", "synthetic/Nordic_003"): answered([[1]], [1], DIMENSIONS[:1])}
    export_memobench_answers(memobench_run(tmp_path / "run", outcomes, metrics=list(METRICS)), tmp_path / "out")
    (row,) = table(tmp_path / "out/vqa_results/alpha/overall.csv")
    assert row == {"scene": "Nordic", "video_id": "3", **dict.fromkeys(DIMENSIONS, ""), DIMENSIONS[0]: "1.0"}


def test_a_run_without_questions_has_no_such_files(tmp_path):
    run = memobench_run(tmp_path / "run", {("alpha", "real/001"): {}})
    assert export_memobench_answers(run, tmp_path / "out") == []
    assert not (tmp_path / "out").exists()


def test_a_run_of_another_suite_is_refused(tmp_path):
    with pytest.raises(UserError, match="is a run of 'mind'"):
        export_memobench_answers(
            memobench_run(tmp_path / "run", {("a", "real/001"): {}}, suite="mind"), tmp_path / "out"
        )
