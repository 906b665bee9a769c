from __future__ import annotations

import sys

import pytest

from lookaway.core import Abstention, Reason, UserError
from tests.support.chosen_run import STYLE
from tests.support.hand_made import hand_made_run, scores

DECLINED = Abstention(Reason.MISSING_INPUT, "there are no poses.")


def test_scores_are_rows_of_what_was_scored_and_nothing_else(tmp_path):
    outcomes = {STYLE: scores("m", 0.2, 0.9)}
    run = hand_made_run(tmp_path / "run", "mbench-a", outcomes)
    assert sorted((row["model"], row["metric"], row["value"]) for row in run.scores) == [
        ("m", STYLE, 0.2),
        ("m", STYLE, 0.9),
    ]
    assert {"case", "subset", "scene", "seed", "raw", "rollout"} < run.scores[0].keys()


def test_a_frame_of_pandas_has_what_was_not_scored_too_and_says_why(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {STYLE: {**scores("m", 0.2, 0.9), ("m", "s2"): DECLINED}})
    frame = run.to_pandas()
    assert frame.groupby("status").size().to_dict() == {"abstention": 1, "score": 2}
    assert frame[frame.status == "score"].value.tolist() == [0.2, 0.9]
    assert frame[frame.status == "abstention"].value.isna().all()
    assert frame[frame.status == "abstention"].reason.tolist() == ["missing_input"]


def test_without_pandas_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match="pip install pandas"):
        hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2)}).to_pandas()


def test_a_table_prints_a_line_for_each_number_with_its_support(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2, 0.9)})
    head, line, *_ = str(run.table()).splitlines()
    assert head.split()[:4] == ["model", "metric", "subset", "mean"]
    assert line.split()[:2] == ["m", STYLE]
    assert "0.550" in line
    assert "2 of 2" in line


def test_a_notebook_shows_a_run_as_a_table_and_text_of_the_dataset_as_text(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("<script>m", 0.2, 0.9)})
    page = run._repr_html_()
    assert "<td>&lt;script&gt;m</td>" in page
    assert "<script>" not in page
