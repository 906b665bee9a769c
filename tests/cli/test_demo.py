from __future__ import annotations

import time
from pathlib import Path

import pytest

from lookaway.reports.leaderboards import headline, leaderboards
from lookaway.reports.runs import load_runs
from lookaway.world.actors import ACTORS
from tests.support.command import lookaway

pytestmark = [pytest.mark.timeout(900), pytest.mark.render, pytest.mark.nightly]  # README runs the demo in tier two


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    root = tmp_path_factory.mktemp("demo") / "demo"
    start = time.process_time()
    result = lookaway("demo", "-o", root, "--json")
    return root, result, time.process_time() - start


def test_the_demo_orders_the_actors_as_they_forget_and_frozen_is_not_tested(demo):
    _, result, _ = demo
    assert result.code == 0, result.err
    found = result.json["standings"]
    assert {row["model"] for row in found} == ACTORS.keys()
    assert found[0]["model"] == "perfect"
    assert [row["model"] for row in found if row["means"]["remembered"]] == ["perfect"]
    assert [row["model"] for row in found if not row["is_tested"]] == ["frozen"]


def test_the_demo_gives_no_rank_that_its_report_refuses(demo):
    root, result, _ = demo
    boards = leaderboards(load_runs([root / "run"]))
    ranked = {row.model for row in headline(boards).rows if row.ranks}
    assert {row["model"] for row in result.json["standings"] if row["rank"]} == ranked


def test_the_demo_ends_with_its_report(demo):
    root, result, _ = demo
    assert Path(result.json["report"]) == root / "report" / "index.html"
    assert Path(result.json["report"]).is_file()


def test_the_demo_is_over_before_a_newcomer_loses_patience(demo):
    _, _, seconds = demo
    assert seconds < 120  # about 60 of the processor on a quiet machine


def test_the_demo_again_draws_and_measures_nothing_anew(demo):
    root, result, seconds = demo
    start = time.process_time()
    again = lookaway("demo", "-o", root, "--json")
    assert again.json == result.json
    assert time.process_time() - start < seconds / 3


def test_the_demo_says_where_to_look_next(demo):
    root, _, _ = demo
    text = lookaway("demo", "-o", root).out
    (clip,) = [line.split()[-1] for line in text.splitlines() if line.startswith("See a clip:")]
    assert lookaway("world", "show", clip).code == 0
    assert "not tested" in text
