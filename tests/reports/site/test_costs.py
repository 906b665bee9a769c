"""Costs of runs on the index: a table for every run that recorded them, and nothing for the others."""

from __future__ import annotations

import pytest

from lookaway.core import RunError
from lookaway.engine.timings import SessionCosts, StageTiming, StageTimings, save_session
from lookaway.judges.budget import Spent
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building
from lookaway.reports.site.building import build_site
from tests.reports.site.page import Node
from tests.reports.site.simulated import Simulated
from tests.support.browser import chromium, serious_violations, visit

STYLE = "mbencht.environment.rendering_style"
HOSTILE = "\"'><script>alert(1)</script><b onload='x"
TIMINGS = StageTimings(
    {
        "decoding": StageTiming(seconds=25.0, cpu_seconds=20.0, rollouts=10, frames=5000, pixels=5000),
        "sift": StageTiming(seconds=75.0, cpu_seconds=50.0, rollouts=8, frames=300, kept=2, stored_bytes=1500),
        "waiting": StageTiming(seconds=900.0),
    }
)


def write_run(path, **facts):
    run = Simulated(path=path, skills={"good": 0.8}, metrics=[STYLE], scenes=4).write()
    if facts:
        session = {"executor": "ray", "workers": 2, "started": 0.0, "seconds": 60.0, "rollouts": 10, "timings": TIMINGS}
        save_session(path, SessionCosts(**(session | facts)))
    return run


def section(page: Node) -> Node:
    return next(node for node in page.all("section") if node.attributes.get("aria-labelledby") == "costs")


def rows(table: Node) -> list[list[str]]:
    return [[cell.text for cell in row.all() if cell.tag in ("th", "td")] for row in table.one("tbody").all("tr")]


def test_every_stage_has_its_row_the_longest_first_and_waiting_last(tmp_path, build_index):
    stages, sessions = section(build_index(write_run(tmp_path / "run", failures=1))).all("table")
    assert [head.text for head in stages.one("thead").all("th")][:4] == ["Stage", "Time", "CPU time", "Share"]
    assert rows(stages) == [
        ["sift", "75 s", "50 s", "75.0%", "8", "300", "4", "2", "1.5 kB"],
        ["decoding", "25 s", "20 s", "25.0%", "10", "5,000", "200", "-", "-"],
        ["waiting", "15.0 min", "0.00 s", "-", "-", "-", "-", "-", "-"],
    ]
    assert rows(sessions) == [["1970-01-01 00:00 UTC", "ray", "2", "10", "1", "-", "-", "60 s"]]


def test_sessions_add_up_and_judge_and_retries_are_named(tmp_path, build_index):
    run = write_run(
        tmp_path / "run", retries=3, deaths=1, judge=Spent(calls=1200, prompt_tokens=5000, answer_tokens=70)
    )
    save_session(run.path, SessionCosts(executor="inline", workers=1, started=1.0, seconds=40.0, timings=TIMINGS))
    found = section(build_index(run))
    assert found.all("p")[1].text == (
        "1.7 min in 2 sessions; 4 features from the cache; 3 retried; "
        "1,200 judge calls with 5,000 prompt tokens and 70 answer tokens."
    )
    stages, sessions = found.all("table")
    assert rows(stages)[0][:2] == ["sift", "2.5 min"]
    assert [row[1] for row in rows(sessions)] == ["ray", "inline"]


def test_a_run_that_noted_nothing_has_no_section(tmp_path, build_index):
    page = build_index(write_run(tmp_path / "run"))
    assert "Costs" not in page.text
    assert not page.all(id="costs")


def test_each_run_has_its_own_table(tmp_path, build_index):
    page = build_index(
        write_run(tmp_path / "one", rollouts=1), write_run(tmp_path / "two"), write_run(tmp_path / "three", rollouts=3)
    )
    assert [node.text for node in section(page).all("h3")] == ["one", "three"]
    assert any(link.attributes.get("href") == "#costs" for link in page.one("nav").all("a"))


def test_hostile_names_stay_text(tmp_path, build_index):
    pages = []
    for number, text in enumerate((HOSTILE, "x" * len(HOSTILE))):
        timings = StageTimings({text: StageTiming(seconds=1.0)})
        run = write_run(tmp_path / f"run{number}", executor=text, timings=timings)
        pages.append(build_index(run, output=tmp_path / f"site{number}"))
    hostile, harmless = (section(page) for page in pages)
    assert hostile.shape == harmless.shape
    assert rows(hostile.all("table")[0])[0][0] == rows(hostile.all("table")[1])[0][1] == HOSTILE


def test_damaged_costs_are_told_with_what_to_do(tmp_path, build_index):
    run = write_run(tmp_path / "run")
    (run.path / "costs.json").write_text("{")
    with pytest.raises(RunError, match="Delete it; nothing else is lost"):
        build_index(run)


def test_in_a_browser_nothing_bars_anybody_and_the_page_does_not_scroll_sideways(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "write_items", lambda runs, output: {})
    index = build_site(load_runs([write_run(tmp_path / "run", executor=HOSTILE).path]), tmp_path / "site")
    with chromium() as browser, visit(browser, index, fragment="#costs", width=390) as opened:
        opened.page.locator("section[aria-labelledby=costs] summary").click()
        assert opened.page.locator("section[aria-labelledby=costs] table").count() == 2
        assert (opened.dialogs, opened.errors, opened.went_out()) == ([], [], [])
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert serious_violations(opened.page) == []
