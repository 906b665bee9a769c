"""The index as people meet it: in a browser, from a folder, with the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.calibration.card import CardSet
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building
from lookaway.reports.site.building import build_site
from tests.reports.site.simulated import Simulated
from tests.reports.site.test_index_markup import HOSTILE, HOSTILE_EVERYWHERE, write_run
from tests.support.browser import Visit, serious_violations, visit

pytestmark = [pytest.mark.browser, pytest.mark.merge]

STYLE = "mbencht.environment.rendering_style"


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    """An index with every section, of a run full of hostile text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "write_items", lambda runs, output: {})
        patch.setattr(CardSet, "is_won_by_frozen", lambda cards, *hashes: False)  # so that models are ranked
        folder = tmp_path_factory.mktemp("site")
        run = write_run(folder / "run", HOSTILE, HOSTILE_EVERYWHERE).write()
        return build_site(load_runs([run.path]), folder / "site")


@pytest.fixture(scope="module")
def plain_index(tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "write_items", lambda runs, output: {})
        patch.setattr(CardSet, "is_won_by_frozen", lambda cards, *hashes: False)  # so that models are ranked
        folder = tmp_path_factory.mktemp("plain")
        skills = {"a": 0.5, "b": 0.9, "c": 0.2, "frozen": 0.7}
        run = Simulated(path=folder / "run", skills=skills, metrics=[STYLE], scenes=12).write()
        return build_site(load_runs([run.path], ["frozen"]), folder / "site")


def models(opened: Visit) -> list[str]:
    names = opened.page.locator("table.ranked tbody th").all_inner_texts()
    return [name.removesuffix("control").strip() for name in names]


def test_hostile_text_does_nothing(browser, index):
    with visit(browser, index) as opened:
        assert (opened.dialogs, opened.errors, opened.went_out()) == ([], [], [])
        assert opened.page.locator("main script, main img").count() == 0
        assert opened.page.evaluate("document.styleSheets.length") == 1


def test_columns_are_sorted_with_the_keyboard_and_controls_stay_below(browser, plain_index):
    with visit(browser, plain_index) as opened:
        assert models(opened) == ["b", "a", "c", "frozen"]
        head = opened.page.locator("table.ranked thead button", has_text="Mean")
        head.focus()
        opened.page.keyboard.press("Enter")
        assert models(opened) == ["b", "a", "c", "frozen"]
        opened.page.keyboard.press("Space")
        assert models(opened) == ["c", "a", "b", "frozen"]
        assert opened.page.locator("table.ranked th[aria-sort]").get_attribute("aria-sort") == "ascending"
        opened.page.locator("table.ranked thead button", has_text="Model").press("Enter")
        assert models(opened) == ["a", "b", "c", "frozen"]
        opened.page.locator("table.ranked thead button", has_text="Ranks").press("Enter")
        assert models(opened) == ["b", "a", "c", "frozen"]
        assert opened.page.locator("th[aria-sort]").count() == 1


def test_a_link_opens_the_board_it_leads_to(browser, plain_index):
    with visit(browser, plain_index) as opened:
        leaderboard = opened.page.locator("details.board").first
        name = leaderboard.get_attribute("id")
        leaderboard.evaluate("node => { node.open = false }")
        opened.page.evaluate("name => { location.hash = name }", name)
        opened.page.wait_for_function("name => document.getElementById(name).open", arg=name)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_nothing_serious_bars_anybody(browser, index, width, dark):
    with visit(browser, index, width=width, dark=dark) as opened:
        assert serious_violations(opened.page) == []


def test_a_phone_scrolls_tables_and_not_the_page(browser, index):
    with visit(browser, index, width=390) as opened:
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


SPLIT = """() => [...document.querySelectorAll(".who > bdi, .tag, .meta, .over-all small")].flatMap((node) => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), split = [];
    while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/[a-z]+/gi)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) split.push(word[0]);
    }
    return split;
})"""


def test_no_word_breaks_in_the_middle_on_a_phone(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "write_items", lambda runs, output: {})
    skills = {"hallucinator": 0.5, "perfect": 0.9, "frozen": 0.8, "forgetful": 0.2}
    metrics = [f"mbencht.environment.{name}" for name in ("spatial_epipolar", "spatial_reprojection")]
    run = Simulated(path=tmp_path / "run", skills=skills, metrics=metrics, scenes=12).write()
    with visit(browser, build_site(load_runs([run.path]), tmp_path / "site"), width=390) as opened:
        assert opened.page.evaluate(SPLIT) == []
