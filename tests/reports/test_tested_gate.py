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

PUBLISHED, GATE = "mbencha.entity.human_identity_consistency", "mbencha.revisited"
IDENTITY = "mbencha.corrected.entity.human_identity_consistency"
pytestmark = pytest.mark.usefixtures("tried_on_frozen")
HALF = [0.9, 0.1] * 10
TESTED = [1.0, 0.0] * 10


def made(path: Path, metric: str) -> Run:
    """`still` is perfectly consistent; `half` is good where it looks away, and bad where it does not."""
    values = {**scores("still", *[1.0] * 20), **scores("half", *HALF)}
    gate = {**scores("still", *[0.0] * 20), **scores("half", *TESTED)}
    kinds = {metric: {"metric": {"kind": "human_identity"}}, GATE: {"metric": {"kind": "revisited"}}}
    lock = {"suite": {"name": "mbench-a"}, "metrics": kinds}
    return hand_made_run(path, "mbench-a", {metric: values, GATE: gate}, lock)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Of a corrected metric, about which our gate decides."""
    return made(tmp_path / "run", IDENTITY)


@pytest.fixture
def published(tmp_path: Path) -> Run:
    """Of the published one, about which it does not."""
    return made(tmp_path / "published", PUBLISHED)


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


def test_a_published_mean_is_over_all_and_beside_it_stand_share_and_mean_of_the_tested(published):
    shown = lookaway("show", published.path).out
    head, half, still = (line.split() for line in shown.splitlines()[:3])
    assert head[-4:] == ["tested", "judged", "if", "tested"]
    assert (half[0], half[-5:]) == ("half", ["0.500", "20", "of", "20", "0.900"])
    assert (still[0], still[-5:]) == ("still", ["0.000", "20", "of", "20", "-"])
    cells = {cell.model: cell for cell in published.table().cells}
    assert (cells["still"].estimate.mean, cells["still"].untested) == (1.0, 20)
    assert (cells["half"].estimate.mean, cells["half"].untested) == (pytest.approx(0.5), 10)


def test_a_model_that_never_looked_away_has_a_published_mean_and_no_rank(published):
    (leaderboard,) = leaderboards([load_run(published, "run")])
    rows = {row.model: row for row in leaderboard.rows}
    assert (rows["still"].cell.estimate.mean, rows["still"].ranks) == (1.0, None)
    assert rows["half"].ranks.best == 1


def test_there_is_no_trigger_to_ignore_where_the_publication_has_none(run, published):
    for made_run in (run, published):
        assert made_run.table(ignore_triggers=True) == made_run.table()


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


def test_the_layout_of_mbench_keeps_every_score_and_says_which_rollouts_tested(published, tmp_path):
    export_mbench(published, tmp_path)
    folder = tmp_path / "metrics" / PUBLISHED
    groups = json.loads((folder / "summary.json").read_text())["groups"]
    assert (groups["half"]["score"], groups["half"]["n"], groups["half"]["n_untested"]) == (pytest.approx(0.5), 20, 10)
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert all("score" in item["scores"] and "triggered" not in item["scores"] for item in items)
    assert {item["metadata"]["tested"] for item in items if item["model_id"] == "still"} == {0.0}
    assert sorted(path.name for path in (tmp_path / "metrics").iterdir()) == [PUBLISHED]


def test_a_submission_keeps_the_mean_over_all_and_counts_the_untested(published):
    metric = make_submission(published, Entry(model="half"))["metrics"][PUBLISHED]
    assert (metric["m_score"], metric["n"], metric["n_untested"]) == (pytest.approx(50), 20, 10)
    assert "c_trig" not in metric


def test_a_published_mean_is_compared_with_that_over_all(published, tmp_path):
    (tmp_path / "there.csv").write_text("model,metric,score\nhalf,human_identity_consistency,0.5\n")
    result = lookaway("verify", published.path, tmp_path / "there.csv")
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
