"""A gate that answered nobody, as every reader of cells and values shows it: no score counts anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import Abstention, Reason
from lookaway.engine.run import Run
from lookaway.reports.compare.comparison import compare_runs
from lookaway.reports.export.paper_table import paper_tables
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import load_run
from lookaway.reports.site.profile import coverage_charts
from tests.support.chosen_run import GATE, IDENTITY, Clip, chosen_run, clips

VALUES = [0.9 - 0.01 * number for number in range(12)]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Twelve high scores of a model, for none of which the judge says whether it triggered."""
    refused = Abstention(Reason.JUDGE_REFUSED, "no.")
    gate = [Clip(metric=GATE, case=clip.case, outcome=refused) for clip in clips(GATE, VALUES)]
    return chosen_run(tmp_path / "run", [*clips(IDENTITY, VALUES), *gate], suite="mbench-t")


def test_a_board_has_neither_a_mean_nor_a_rank_and_says_why(run):
    (leaderboard,) = leaderboards([load_run(run, "run")])
    (row,) = leaderboard.rows
    assert (row.cell.estimate, row.ranks, len(row.values.values)) == (None, None, 0)
    assert row.cell.reasons == {"gate judge_refused": 12}
    assert leaderboard.is_gated
    assert coverage_charts([leaderboard], {"m": 0}) == []


def test_a_table_for_a_paper_has_no_number(run):
    (table,) = paper_tables(load_run(run, "run"))
    assert len(table.columns) == 3
    assert [cell.estimate for column in table.columns for cell in column.cells] == [None, None, None]


def test_a_comparison_pairs_no_clip(run, tmp_path):
    judged = [*clips(IDENTITY, VALUES), *clips(GATE, [1.0] * 12)]
    found = compare_runs(chosen_run(tmp_path / "judged", judged, suite="mbench-t"), run)
    (entry,) = [entry for entry in found.dimensions if entry.metric == IDENTITY]
    assert (entry.pairs, entry.only_before, entry.only_after, entry.difference) == (0, 12, 0, None)
