"""The index of a whole leaderboard can be sent and opened: 40 cases, six models, three seeds."""

from __future__ import annotations

import pytest

from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import build_site
from tests.reports.site.page import read_page
from tests.reports.site.simulated import KINDS, Simulated

pytestmark = pytest.mark.merge

MAX_BYTES = 3_000_000
SKILLS = {"atlas": 0.8, "borealis": 0.74, "cirrus": 0.6, "dune": 0.55, "ember": 0.45, "frozen": 0.3}


def test_forty_cases_of_six_models_and_three_seeds_fit_into_three_megabytes(tmp_path):
    metrics = [f"mbencht.environment.{kind}" for kind in KINDS]
    gate = dict.fromkeys(SKILLS, 0.75)
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=metrics, seeds=3, frames=12, triggered=gate).write()
    index = build_site(load_runs([run.path], ["frozen"]), tmp_path / "site")
    assert index.stat().st_size < MAX_BYTES
    page = read_page(index.read_text())
    assert len(page.one("table", "grid-table").one("tbody").all("tr")) == 40
    assert len(page.one("svg", "two").all("a")) > 30  # some cases tested only one of the two
    assert [node.attributes["href"] for node in page.one("nav").all("a") if node.attributes["href"][0] != "#"] == []
