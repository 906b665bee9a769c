"""A model that never looks away, and one that did so in half of its clips, as every table and export shows them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from lookaway.core import Abstention, Reason
from lookaway.engine.run import Run
from lookaway.reports.compare.comparison import compare_runs
from lookaway.reports.export.mbench import export_mbench
from lookaway.reports.export.mbench_leaderboard import Entry, make_submission
from lookaway.reports.export.paper_table import markdown_tables, paper_tables
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import load_run
from lookaway.reports.site.profile import coverage_charts
from lookaway.reports.site.tables import leaderboard_lines
from lookaway.reports.site.warnings import warnings
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores

IDENTITY, GATE = "mbencha.entity.human_identity_consistency", "mbencha.revisited"
HALF = [0.9, 0.1] * 10
TESTED = [1.0, 0.0] * 10


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`still` is perfectly consistent; `half` is good where it looks away, and bad where it does not."""
    values = {**scores("still", *[1.0] * 20), **scores("half", *HALF)}
    gate = {**scores("still", *[0.0] * 20), **scores("half", *TESTED)}
    kinds = {IDENTITY: {"metric": {"kind": "human_identity"}}, GATE: {"metric": {"kind": "revisited"}}}
    lock = {"suite": {"name": "mbench-a"}, "metrics": kinds}
    return hand_made_run(tmp_path / "run", "mbench-a", {IDENTITY: values, GATE: gate}, lock)


def test_the_table_has_the_share_of_tested_rollouts_and_the_mean_over_them(run):
    still, half = sorted(run.table().cells, key=lambda cell: cell.model, reverse=True)
    assert (half.estimate.mean, half.gated.coverage.mean, half.scored) == (pytest.approx(0.9), 0.5, 10)
    assert (still.estimate, still.gated.coverage.mean, still.reasons) == (None, 0.0, {"gate_closed": 20})
    shown = lookaway("show", run.path).out
    head, first, second = shown.splitlines()[:3]
    assert "tested" in head
    assert "M-Score" not in head
    assert "gate_closed 10" in first
    assert "not tested" in second


def test_where_gates_are_ignored_the_untested_are_counted(run):
    shown = lookaway("show", run.path, "--ignore-trigger").out
    assert shown.splitlines()[0].split()[-1] == "untested"
    assert "note: Gates are ignored" in shown
    cells = {cell.model: cell for cell in run.table(ignore_gates=True).cells}
    assert (cells["still"].estimate.mean, cells["still"].untested) == (1.0, 20)
    assert (cells["half"].estimate.mean, cells["half"].untested) == (pytest.approx(0.5), 10)


def test_a_run_that_measures_as_published_keeps_its_means_and_ranks_no_untested_model(tmp_path):
    values, gate = scores("still", *[1.0] * 20), scores("still", *[0.0] * 20)
    lock = {"suite": {"name": "mbench-a"}, "dataset": {"settings": {"as_published": True}}, "metrics": {}}
    made = hand_made_run(tmp_path / "run", "mbench-a", {IDENTITY: values, GATE: gate}, lock)
    (leaderboard,) = leaderboards([load_run(made, "run")])
    (row,) = leaderboard.rows
    assert (row.cell.estimate.mean, row.cell.untested, row.ranks) == (1.0, 20, None)


def test_a_control_is_shown_last_in_the_table(run):
    rows = lookaway("show", run.path, "--control", "half=looks away at times").out.splitlines()
    assert [row.split("  ")[0] for row in rows[1:3]] == ["still", "half (control)"]
    assert "control: half: looks away at times" in rows
    refused = lookaway("show", run.path, "--control", "halb")
    assert refused.code == 2
    assert "half" in refused.err


def test_no_rank_is_given_to_a_model_that_tested_nothing(run):
    (leaderboard,) = leaderboards([load_run(run, "run")])
    rows = {row.model: row for row in leaderboard.rows}
    assert (leaderboard.gate_label, rows["still"].ranks, rows["half"].ranks.best) == ("tested", None, 1)
    lines = {line.model: line for line in leaderboard_lines(leaderboard, {"half": 0, "still": 1})}
    assert (lines["still"].mean.text, lines["still"].coverage.text) == ("not tested", "0.000")
    assert coverage_charts([leaderboard], {"half": 0, "still": 1}) == []


def test_a_report_warns_of_what_was_not_tested(run):
    loaded = load_run(run, "run")
    texts = [warning.text for warning in warnings([loaded], leaderboards([loaded]))]
    assert any("without any rollout that tested memory" in text for text in texts)
    assert not any("no gate checks" in text for text in texts)


def test_a_table_for_a_paper_shows_the_share_and_no_m_score(run):
    (table,) = paper_tables(load_run(run, "run"))
    assert [column.title.partition(": ")[2] for column in table.columns] == ["", "tested"]
    assert "| not tested |" in markdown_tables([table], "x")


def test_rows_of_estimates_name_the_gate(run, tmp_path):
    lookaway("export", "table", run.path, "-o", tmp_path / "table.csv", "--control", "still=a still video")
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert [rows["half"][name] for name in ("gate", "coverage_mean", "untested", "control")] == [
        "tested",
        "0.5",
        "0",
        "",
    ]
    assert (rows["still"]["mean"], rows["still"]["control"]) == ("", "a still video")


def test_the_layout_of_mbench_keeps_every_score_and_says_which_rollouts_tested(run, tmp_path):
    export_mbench(run, tmp_path)
    folder = tmp_path / "metrics" / IDENTITY
    groups = json.loads((folder / "summary.json").read_text())["groups"]
    assert (groups["half"]["score"], groups["half"]["n"], groups["half"]["n_untested"]) == (pytest.approx(0.5), 20, 10)
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert all("score" in item["scores"] and "triggered" not in item["scores"] for item in items)
    assert {item["metadata"]["tested"] for item in items if item["model_id"] == "still"} == {0.0}
    assert sorted(path.name for path in (tmp_path / "metrics").iterdir()) == [IDENTITY]


def test_a_submission_keeps_the_mean_over_all_and_counts_the_untested(run):
    metric = make_submission(run, Entry(model="half"))["metrics"][IDENTITY]
    assert (metric["m_score"], metric["n"], metric["n_untested"]) == (pytest.approx(50), 20, 10)
    assert "c_trig" not in metric


def test_a_published_mean_is_compared_with_that_over_all(run, tmp_path):
    (tmp_path / "there.csv").write_text("model,metric,score\nhalf,human_identity_consistency,0.5\n")
    result = lookaway("verify", run.path, tmp_path / "there.csv")
    assert result.code == 0
    assert "includes 10 untested" in result.out


def test_a_comparison_pairs_only_tested_clips_and_shows_the_row_of_the_gate(run):
    found = compare_runs(run, run, ["half", "still"])
    pairs = {entry.metric: entry.pairs for entry in found.dimensions}
    assert pairs == {IDENTITY: 0, GATE: 20}
    assert any("passed the gate" in note for note in found.notes)


def test_a_gate_without_a_verdict_leaves_its_rollout_out_and_says_so(tmp_path):
    unknown = {("half", "s1"): Abstention(Reason.POSE_FAILED, "lost.")}
    gate = {**scores("half", 1.0), **unknown}
    made = hand_made_run(tmp_path / "run", "mbench-a", {IDENTITY: scores("half", 0.8, 0.2), GATE: gate})
    (cell,) = made.table().cells
    assert (cell.estimate.mean, cell.gated.coverage.scored) == (0.8, 1)
    assert cell.reasons == {"gate pose_failed": 1}
