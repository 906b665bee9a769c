"""A report in one file as people meet it: from a mail, in an empty folder, with the keyboard, on a phone, on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.reports.runs import load_runs
from lookaway.reports.site.one_file import write_one_file
from lookaway.reports.site.rendering import slug
from tests.reports.site.test_one_file import filmed_run, hostile_run
from tests.support.browser import serious_violations, visit

pytestmark = [pytest.mark.browser, pytest.mark.merge]

VASE = f"case-{slug('vase')}"
OPEN_ALL = "() => { for (const d of document.querySelectorAll('details')) d.open = true; }"
OPEN_CASES = "() => [...document.querySelectorAll('details.case')].map((entry) => entry.open)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    return write_one_file(load_runs([filmed_run(root).write()]), root / "alone" / "report.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    return write_one_file(load_runs([hostile_run(root)]), root / "alone" / "report.html")


def test_it_opens_alone_and_asks_for_nothing(browser, report):
    with visit(browser, report) as opened:
        opened.page.evaluate(OPEN_ALL)
        assert (opened.requests, opened.errors) == ([report.as_uri()], [])
        assert opened.page.evaluate("() => document.styleSheets.length") == 2


def test_an_address_opens_its_case_and_no_other_and_its_frames_are_seen(browser, report):
    with visit(browser, report, fragment=f"#{VASE}") as opened:
        assert opened.page.evaluate(OPEN_CASES) == [False, True]
        picture = opened.page.locator(f"#{VASE} img")
        assert picture.is_visible()
        opened.page.wait_for_function("(image) => image.complete", arg=picture.element_handle())
        assert picture.evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [8 * 64, 48]
        assert opened.page.locator(f"#{VASE} .only-live").is_visible() is False


def test_the_keyboard_opens_a_case(browser, report):
    with visit(browser, report) as opened:
        opened.page.locator(f"#{VASE} > summary").focus()
        opened.page.keyboard.press("Enter")
        assert opened.page.evaluate(OPEN_CASES) == [False, True]


def test_paper_has_every_case(browser, report):
    with visit(browser, report) as opened:
        opened.page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
        assert opened.page.evaluate(OPEN_CASES) == [True, True]
        opened.page.evaluate("() => dispatchEvent(new Event('afterprint'))")
        assert opened.page.evaluate(OPEN_CASES) == [False, False]


def test_a_data_file_can_be_saved_under_its_name(browser, report, tmp_path):
    with visit(browser, report) as opened:
        with opened.page.expect_download() as saved:
            opened.page.locator("a[download='table.csv']").click()
        saved.value.save_as(tmp_path / "saved.csv")
        assert saved.value.suggested_filename == "table.csv"
        assert (tmp_path / "saved.csv").read_text().startswith("suite,")
        assert opened.errors == []


def test_hostile_text_does_nothing(browser, hostile):
    with visit(browser, hostile) as opened:
        opened.page.evaluate(OPEN_ALL)
        assert opened.page.evaluate("() => window.hacked") is None
        assert (opened.dialogs, opened.errors, opened.requests) == ([], [], [hostile.as_uri()])


@pytest.mark.parametrize("kind", ["report", "hostile"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_axe_finds_nothing_serious_and_a_phone_scrolls_tables_only(browser, request, kind, width, dark):
    with visit(browser, request.getfixturevalue(kind), width=width, dark=dark) as opened:
        opened.page.evaluate(OPEN_ALL)
        assert serious_violations(opened.page) == []
        assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= width
