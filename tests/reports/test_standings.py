from __future__ import annotations

import pytest

from lookaway.core import Abstention, Reason
from lookaway.reports.leaderboards import headline, leaderboards
from lookaway.reports.runs import load_runs
from lookaway.reports.world import standings
from tests.reports.site.simulated import Simulated

pytestmark = pytest.mark.usefixtures("tried_on_frozen")
STYLE = "mbencht.environment.rendering_style"


def boards_of(path, *, scenes, decide=lambda *place: None):
    run = Simulated(path=path, skills={"poor": 0.2, "good": 0.9}, metrics=[STYLE], scenes=scenes, decide=decide).write()
    return leaderboards(load_runs([run.path]))


def test_the_demo_ranks_as_the_report_ranks(tmp_path):
    boards = boards_of(tmp_path / "run", scenes=20)
    order = standings(boards)
    assert [one.model for one in order] == ["good", "poor"]
    assert {one.model: one.rank for one in order} == {row.model: row.ranks for row in headline(boards).rows}
    assert order[0].rank.best == order[0].rank.worst == 1


def test_few_clips_have_an_order_and_no_rank(tmp_path):
    order = standings(boards_of(tmp_path / "run", scenes=4))
    assert [(one.model, one.rank, one.is_tested) for one in order] == [("good", None, True), ("poor", None, True)]
    assert all(one.means[STYLE] is not None for one in order)


def test_without_any_value_there_is_no_order(tmp_path):
    nothing = Abstention(Reason.NO_JUDGE, "no judge.")
    assert standings(boards_of(tmp_path / "run", scenes=4, decide=lambda *place: nothing)) == []
