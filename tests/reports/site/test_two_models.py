"""Two models case by case: a dot for each case, as the page stands and as its selects change it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lookaway.core import Score
from lookaway.reports.charts.two_models import Dot, PlotModel, two_models_plot
from lookaway.reports.leaderboards import leaderboards
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building
from lookaway.reports.site.building import build_site
from lookaway.reports.site.case_grid import CasePage
from lookaway.reports.site.index import model_styles
from lookaway.reports.site.two_models import TwoModels, two_models
from tests.reports.site.page import read_page
from tests.reports.site.simulated import ABSTAINED, Simulated
from tests.support.browser import serious_violations, visit

STYLE = "mbencht.environment.rendering_style"
SKILLS = {"a": 0.5, "b": 0.9, "c": 0.7, "still": 0.95}
CASE = "environment:sample_000"
MODELS = (PlotModel(name="a", style=0), PlotModel(name="b", style=1))


def write(path: Path, **options: object) -> Path:
    return Simulated(path=path, metrics=[STYLE], scenes=12, **{"skills": SKILLS, **options}).write().path


def drawn(path: Path, *controls: str, pages: dict[str, CasePage] | None = None) -> TwoModels | None:
    runs = load_runs([path], controls)
    boards = leaderboards(runs)
    return two_models(runs, boards, pages or {}, model_styles(boards))


def test_the_two_best_models_are_drawn_and_a_control_is_not_among_them(tmp_path):
    found = drawn(write(tmp_path / "run"), "still")
    assert [found.models[number].name for number in found.pair] == ["b", "c"]
    assert [model.name for model in found.models] == ["b", "c", "a", "still"]


def test_a_case_is_one_dot_at_the_mean_over_its_seeds(tmp_path):
    path = write(tmp_path / "run", seeds=3)
    found = drawn(path)
    values = [row["value"] for row in load_runs([path])[0].items() if (row["model"], row["case"]) == ("b", CASE)]
    assert len(values) == 3
    means = {case.id: case.means for case in found.cases}
    assert means[CASE][[model.name for model in found.models].index("b")] == pytest.approx(sum(values) / 3)
    assert len(read_page(found.svg).all("g", "dots")[0].all("use")) == 12


def test_a_case_on_which_one_of_them_has_no_value_is_counted_and_not_drawn(tmp_path):
    def decide(model: str, number: int, metric: str) -> object:
        return ABSTAINED if model == "b" and number < 3 else None

    found = drawn(write(tmp_path / "run", skills={"a": 0.5, "b": 0.9}, decide=decide))
    assert len(read_page(found.svg).all("g", "dots")[0].all("use")) == 9
    assert found.left_out == "3 cases are not drawn: one of the two has no value that counts there."


def test_models_that_share_no_case_are_not_drawn(tmp_path):
    def decide(model: str, number: int, metric: str) -> object:
        return ABSTAINED if (model == "b") == (number < 6) else None

    assert drawn(write(tmp_path / "run", skills={"a": 0.5, "b": 0.9}, decide=decide)) is None


def test_the_sentence_counts_the_cases_on_either_side_and_those_that_are_equal(tmp_path):
    def decide(model: str, number: int, metric: str) -> Score:
        return Score(
            {"a": 0.5, "b": 0.25}[model] if number < 4 else {"a": 0.25, "b": 0.5}[model] if number < 9 else 0.5
        )

    found = drawn(write(tmp_path / "run", skills={"a": 0.5, "b": 0.9}, decide=decide))
    assert found.counts == "b is better on 5 cases, a on 4, and both are equal on 3."


@pytest.mark.parametrize(("is_higher_better", "winner"), [(True, 0), (False, 1)])
def test_a_dot_has_the_colour_of_the_model_that_is_better_there(is_higher_better, winner):
    svg = two_models_plot(
        "t", "s", MODELS, [Dot(title="x", href="", x=0.9, y=0.1)], (0, 1), is_higher_better=is_higher_better
    )
    (dot,) = read_page(svg).one("g", "dots").all("use")
    assert dot.attributes["class"] == f"mk c{winner}"


def test_dots_at_one_place_can_all_be_seen():
    dots = [Dot(title=str(number), href="", x=1.0, y=1.0) for number in range(40)]
    uses = read_page(two_models_plot("t", "s", MODELS, dots, (0, 1), is_higher_better=True)).one("g", "dots").all("use")
    assert len({(use.attributes["x"], use.attributes["y"]) for use in uses}) == 40


def test_a_dot_leads_to_the_page_of_its_case_and_has_its_title(tmp_path):
    pages = {CASE: CasePage(id=CASE, href="items/x.html", title="A <b>kitchen</b>", subset="environment")}
    found = drawn(write(tmp_path / "run"), pages=pages)
    (link,) = read_page(found.svg).all("a")
    assert link.attributes["href"] == "items/x.html"
    assert link.attributes["aria-label"].startswith("A <b>kitchen</b>: still 0.")


def test_two_models_need_no_choice_and_one_has_no_picture(tmp_path, build_index):
    pair = build_index(load(write(tmp_path / "pair", skills={"a": 0.5, "b": 0.9})), output=tmp_path / "two")
    assert len(pair.all("svg", "two")) == 1
    assert pair.all("select") == []
    alone = build_index(load(write(tmp_path / "alone", skills={"a": 0.5})), output=tmp_path / "one")
    assert alone.all("svg", "two") == []


def load(path: Path):
    return load_runs([path])[0].run


PLACES = """() => [...document.querySelectorAll(".two .dots use")].map((use) => [
    use.getAttribute("class"), use.getAttribute("href"),
    Math.round(use.getAttribute("x") * 5) / 5, Math.round(use.getAttribute("y") * 5) / 5].join(" ")).sort()"""


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "write_items", lambda runs, output: {})
        folder = tmp_path_factory.mktemp("two")

        def decide(model: str, number: int, metric: str) -> object:
            return ABSTAINED if model == "a" and number < 2 else Score(1.0) if number > 6 else None

        return build_site(load_runs([write(folder / "run", decide=decide)]), folder / "site")


@pytest.mark.browser
@pytest.mark.merge
def test_another_pair_is_drawn_as_the_page_would_have_drawn_it(browser, index):
    with visit(browser, index) as opened:
        page = opened.page
        assert page.locator(".two-models select").count() == 2
        at_first, said = page.evaluate(PLACES), page.locator(".two-models .counts").inner_text()
        page.locator(".two-models select").nth(1).select_option(label="a")
        assert page.locator(".two .dots use").count() == 10
        assert page.locator(".two .of-y text").text_content() == "a"
        words = page.locator(".two-models .summary").inner_text()
        assert re.search(r"^still is better on 5 cases, a on 0, and both are equal on 5\.", words)
        assert "2 cases are not drawn" in words
        page.locator(".two-models select").nth(1).select_option(label="b")
        assert page.locator(".two-models .counts").inner_text() == said
        assert page.evaluate(PLACES) == at_first
        assert opened.errors == []


@pytest.mark.browser
@pytest.mark.merge
def test_choosing_one_model_twice_exchanges_the_two(browser, index):
    with visit(browser, index) as opened:
        selects = opened.page.locator(".two-models select")
        selects.nth(0).select_option(label="b")
        names = selects.evaluate_all("nodes => nodes.map((node) => node.selectedOptions[0].textContent)")
        assert names == ["b", "still"]


@pytest.mark.browser
@pytest.mark.merge
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_the_picture_of_two_models_bars_nobody(browser, index, width, dark):
    with visit(browser, index, width=width, dark=dark) as opened:
        assert serious_violations(opened.page) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
