"""The grid of cases: titles, chips, reasons and the order of the rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building
from lookaway.reports.site.building import build_site
from lookaway.reports.site.case_grid import CasePage, VideoSummary, case_grid, worst_failures
from tests.reports.site.page import read_page
from tests.reports.site.simulated import Simulated
from tests.support.browser import visit

STYLE = "mbencht.environment.rendering_style"


def video(model: str, value: float | None, *, seed: str = "0", reason: str = "gate_closed") -> VideoSummary:
    return VideoSummary(
        model=model,
        seed=seed,
        runs=("run",),
        strip="assets/x.jpg",
        shape="wide",
        values={} if value is None else {STYLE: value},
        reasons={STYLE: reason} if value is None else {},
        flagged=frozenset(),
    )


def page(name: str, *videos: VideoSummary) -> CasePage:
    return CasePage(id=name, href=f"items/{name}.html", title=name.title(), subset="environment", videos=videos)


PAGES = [
    page("calm", video("good", 0.9), video("poor", 0.8)),
    page("split", video("good", 0.95), video("poor", 0.2)),
    page("closed", video("good", 0.85), video("poor", None)),
    page("seeds", video("good", 0.9), video("good", 0.4, seed="1"), video("poor", 0.7)),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Simulated(
        path=tmp_path_factory.mktemp("grid") / "run", skills={"good": 0.8, "poor": 0.4}, metrics=[STYLE], scenes=12
    ).write()


@pytest.fixture(scope="module")
def grid(run):
    return case_grid(PAGES, leaderboards(load_runs([run.path])))


def test_the_case_with_the_worst_video_comes_first(grid):
    assert [row.page.id for row in grid.rows] == ["split", "seeds", "calm", "closed"]
    assert grid.models == ("good", "poor")


def test_a_cell_has_the_worst_of_its_seeds(grid):
    row = next(row for row in grid.rows if row.page.id == "seeds")
    assert [(cell.seeds, cell.chips[0].text, cell.is_failure) for cell in row.cells] == [
        (2, "0.400", True),
        (1, "0.700", False),
    ]


def test_a_cell_without_a_value_has_its_reason_and_is_not_a_failure(grid):
    row = next(row for row in grid.rows if row.page.id == "closed")
    cell = row.cells[1]
    assert (cell.reason, cell.is_untested, cell.is_failure, cell.chips) == ("gate_closed", True, False, ())
    assert row.is_untested
    assert not row.is_failure


def test_the_spread_is_the_distance_between_the_models(grid):
    spreads = {row.page.id: row.spread for row in grid.rows}
    assert spreads["split"] == pytest.approx(0.75)
    assert spreads["closed"] is None


def test_cases_without_videos_make_no_grid(run):
    assert case_grid([page("empty")], leaderboards(load_runs([run.path]))) is None


def test_a_run_without_pictures_has_no_worst_failures(run):
    runs = load_runs([run.path])
    assert worst_failures(runs, leaderboards(runs), {}, lambda jpeg: "x.jpg") == []


@pytest.fixture(scope="module")
def index(run, tmp_path_factory):
    runs = load_runs([run.path])
    cases = sorted({rollout.case for rollout in runs[0].rollouts.values()})
    pages = {case: replace(entry, id=case) for case, entry in zip(cases, PAGES, strict=False)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "write_items", lambda runs, output: pages)
        return build_site(runs, tmp_path_factory.mktemp("grid") / "site")


def test_every_case_of_the_grid_links_to_its_page_and_shows_two_stills_of_each_video(index):
    table = read_page(index.read_text()).one("table", "grid-table")
    assert [link.attributes["href"] for link in table.all("a")] == [
        f"items/{name}.html" for name in ("split", "seeds", "calm", "closed")
    ]
    assert len(table.all("img")) == 2 * 2 * len(PAGES)


@pytest.mark.browser
@pytest.mark.merge
def test_a_view_is_part_of_the_address_and_comes_back_with_it(browser, index):
    with visit(browser, index) as opened:
        shown = (
            "() => [...document.querySelectorAll('.grid-table tbody tr:not([hidden]) th a')].map((a) => a.textContent)"
        )
        assert opened.page.evaluate(shown) == ["Split", "Seeds", "Calm", "Closed"]
        opened.page.get_by_role("button", name="Failures").click()
        assert opened.page.evaluate(shown) == ["Split", "Seeds"]
        opened.page.get_by_role("button", name="Models disagree").click()
        assert opened.page.evaluate(shown) == ["Split", "Seeds", "Calm"]
        opened.page.get_by_role("button", name="Not tested").click()
        assert opened.page.evaluate(shown) == ["Closed"]
        opened.page.get_by_role("button", name="Worst first").click()
        opened.page.get_by_label("Search").fill("se")
        assert opened.page.evaluate(shown) == ["Seeds", "Closed"]
        address = opened.page.evaluate("location.hash")
    with visit(browser, index, fragment=address) as opened:
        assert opened.page.evaluate(shown) == ["Seeds", "Closed"]
