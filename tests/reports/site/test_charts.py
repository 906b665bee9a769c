from __future__ import annotations

import re

import numpy as np
import pytest

from lookaway.core import Estimate
from lookaway.reports.charts.lines import MAX_BANDS, Curve, lines
from lookaway.reports.charts.profiles import Profile, dot_plot, radar, short
from lookaway.reports.charts.scatter import CoveragePoint, scatter
from lookaway.reports.charts.svg import COLOURS, SHAPES, Scale, element, extent, mark, picture, strip, tick_text, ticks
from lookaway.statistics.drift import FrameValues, drift_curve
from tests.reports.site.page import Node, read_page

UNIT = (0.0, 1.0)


def estimate(mean: float, reach: float | None = 0.1) -> Estimate:
    ends = (None, None) if reach is None else (mean - reach, mean + reach)
    return Estimate(mean=mean, low=ends[0], high=ends[1], scored=20, scenes=10)


def place(node: Node) -> tuple[float, float]:
    x, y = re.fullmatch(r"translate\((\S+) (\S+)\)", node.attributes["transform"]).groups()
    return float(x), float(y)


def profile(model: str, *means: float | None, style: int = 0) -> Profile:
    return Profile(model=model, style=style, estimates=tuple(None if m is None else estimate(m) for m in means))


def curve(model: str, values: list[float], style: int = 0) -> Curve:
    scenes = list("abcdef")
    data = FrameValues(
        frames=np.tile(np.arange(len(values)), len(scenes)),
        values=np.concatenate([np.array(values) + 0.02 * (number % 2) for number in range(len(scenes))]),
        rollouts=np.repeat(np.arange(len(scenes)), len(values)),
        scenes=scenes,
    )
    return Curve(model=model, style=style, bins=drift_curve(data, 1))


def test_text_and_attributes_are_escaped():
    found = read_page(str(element("text", "</text><script>", class_='"><b>')))
    assert [node.tag for node in found.all()] == ["text"]
    assert found.one("text").text == "</text><script>"
    assert found.one("text").attributes["class"] == '"><b>'


def test_a_picture_says_what_it_is():
    found = read_page(str(picture((10, 20), "<title>", "words & more"))).one("svg")
    assert (found.one("title").text, found.one("desc").text) == ("<title>", "words & more")
    assert found.attributes["viewbox"] == "0 0 10 20"


def test_forty_two_models_have_forty_two_signs():
    signs = set()
    for style in range(COLOURS * SHAPES):
        node = read_page(str(mark(style, 0, 0))).one("path")
        signs.add((node.attributes["class"], node.attributes["d"]))
    assert len(signs) == 42


def test_neighbours_differ_in_colour_and_in_shape():
    for style in range(41):
        one, other = (read_page(str(mark(n, 0, 0))).one("path").attributes for n in (style, style + 1))
        assert one["class"] != other["class"]
        assert one["d"] != other["d"]


def test_six_models_have_six_shapes_since_two_of_their_colours_are_blue():
    shapes = {read_page(str(mark(style, 0, 0))).one("path").attributes["d"] for style in range(6)}
    assert len(shapes) == 6


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 1.0), (0.0, 3e-5), (21.0, 29.0), (-7.0, 1e6)])
def test_ticks_are_few_even_and_inside(ends):
    values = ticks(*ends)
    steps = np.diff(values)
    assert 2 <= len(values) <= 7
    assert ends[0] - 1e-9 <= values[0] <= values[-1] <= ends[1] * (1 + 1e-9)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert [float(tick_text(value, *ends)) for value in values] == pytest.approx(values)


@pytest.mark.parametrize("values", [[0.0], [5.0], [-3.0, -3.0], [1e-9, 2e-9], [0.0, 1e9]])
def test_an_axis_holds_its_values_and_has_a_width(values):
    low, high = extent(values)
    assert low <= min(values) <= max(values) <= high
    assert high > low


def test_a_value_beyond_the_axis_is_drawn_at_its_end():
    scale = Scale(0, 1, 10, 20)
    assert [scale(value) for value in (-5, 0, 0.5, 1, 5)] == [10, 10, 15, 20, 20]


def test_a_bar_spans_the_interval_and_its_mark_is_at_the_mean():
    found = read_page(str(strip(estimate(0.5, 0.25), UNIT, 3)))
    low, high = re.fullmatch(r"M(\S+) 8.0H(\S+)", found.one("path", "bar").attributes["d"]).groups()
    assert (float(low), float(high)) == (6 + 148 * 0.25, 6 + 148 * 0.75)
    assert place(found.one("path", "mark")) == (80.0, 8.0)
    assert found.one("svg").attributes["aria-hidden"] == "true"


def test_a_mean_without_an_interval_has_no_bar_and_no_mean_no_mark():
    assert read_page(str(strip(estimate(0.5, None), UNIT, 0))).all("path", "bar") == []
    nothing = read_page(str(strip(None, UNIT, 0)))
    assert nothing.all("path", "bar") == nothing.all("path", "mark") == []


def test_dots_lie_where_their_means_are_and_gaps_stay_gaps():
    chart = dot_plot("All", ("one", "two"), [profile("a", 0.0, 1.0), profile("b", 0.5, None, style=1)], UNIT)
    dots = [place(node) for node in read_page(str(chart.svg)).all("path", "mark")]
    assert len(dots) == 3
    assert [x for x, _ in dots] == [168.0, (168 + 424) / 2, 424.0]
    assert chart.rows == (("a", "0.000 [-0.100, 0.100]", "1.000 [0.900, 1.100]"), ("b", "0.500 [0.400, 0.600]", "-"))
    assert chart.summary == "Models lie farthest apart on one (0.500) and closest on one (0.500)."


def test_one_model_is_not_far_from_others():
    assert dot_plot("All", ("one",), [profile("a", 0.5)], UNIT).summary == "No axis has values of two models."


def test_a_radar_points_up_first_and_goes_clockwise():
    node = read_page(str(radar(profile("a", 1.0, 1.0, 1.0, 1.0), ("n", "e", "s", "w"), UNIT)))
    assert [place(dot) for dot in node.all("path", "mark")] == [(100, 26), (174, 100), (100, 174), (26, 100)]
    assert node.one("svg").one("desc").text == "n 1.000; e 1.000; s 1.000; w 1.000"


def test_a_radar_with_a_gap_has_no_outline():
    whole = read_page(str(radar(profile("a", 0.5, 0.5, 0.5), ("x", "y", "z"), UNIT)))
    gap = read_page(str(radar(profile("a", 0.5, None, 0.5), ("x", "y", "z"), UNIT)))
    assert len(whole.all("path", "line")) == len(whole.all("path", "band")) == 1
    assert gap.all("path", "line") == gap.all("path", "band") == []
    assert len(gap.all("path", "mark")) == 2


def point(
    model: str, coverage: float, score: float, combined: float | None, control: str | None = None
) -> CoveragePoint:
    return CoveragePoint(
        model=model,
        style=0,
        coverage=estimate(coverage),
        score=estimate(score),
        combined=None if combined is None else estimate(combined),
        control=control,
    )


def test_a_control_is_hollow_and_is_never_the_best():
    points = [point("frozen", 0.05, 0.9, 0.95, "a still video"), point("model", 0.8, 0.6, 0.68)]
    chart = scatter("Leaderboard", points, UNIT)
    marks = read_page(str(chart.svg)).all("path", "mark")
    assert ["hollow" in node.attributes["class"] for node in marks] == [True, False]
    assert chart.summary == "model has the highest M-Score (0.680); frozen has the lowest coverage (0.050)."
    assert chart.rows[0][0] == "frozen (control: a still video)"


def test_right_is_more_coverage_and_up_is_a_higher_score():
    points = [point("a", 0.2, 0.2, 0.2), point("b", 0.9, 0.9, 0.9)]
    (low_x, low_y), (high_x, high_y) = (
        place(node) for node in read_page(str(scatter("Leaderboard", points, UNIT).svg)).all("path", "mark")
    )
    assert low_x < high_x
    assert low_y > high_y


def test_names_of_points_on_one_place_do_not_lie_on_each_other():
    points = [point(f"model {number}", 0.5, 0.5, 0.5) for number in range(6)]
    texts = [
        n for n in read_page(str(scatter("Leaderboard", points, UNIT).svg)).all("text", "label") if "model" in n.text
    ]
    heights = sorted(float(node.attributes["y"]) for node in texts)
    assert len(heights) == 6
    assert min(np.diff(heights)) >= 12.9


def test_curves_of_an_m_score_are_drawn_for_scores_from_0_to_1_only():
    points = [point("a", 0.2, 0.2, 0.2)]
    assert len(read_page(str(scatter("Leaderboard", points, UNIT).svg)).all("path", "level")) == 4
    assert read_page(str(scatter("Leaderboard", points, (-1.0, 1.0)).svg)).all("path", "level") == []


def test_curves_fall_where_their_values_fall():
    chart = lines("Leaderboard", [curve("falls", [0.9, 0.5, 0.1]), curve("stays", [0.8, 0.8, 0.8], 1)], UNIT, "frames")
    falls, stays = read_page(str(chart.svg)).all("path", "line")
    heights = [float(pair.split()[1]) for pair in falls.attributes["d"][1:].split("L")]
    assert heights == sorted(heights)
    assert stays.attributes["stroke-dasharray"] != falls.attributes.get("stroke-dasharray", "")
    assert chart.summary == "From its first to its last frames falls changes by -0.800, stays by +0.000."
    assert chart.head == ("frames", "falls", "stays")
    assert [row[0] for row in chart.rows] == ["0", "1", "2"]


def test_a_clip_that_ends_early_has_no_value_later():
    chart = lines("Leaderboard", [curve("long", [0.9, 0.5]), curve("short", [0.8], 1)], UNIT, "frames")
    assert chart.rows[1][2] == "-"


def test_many_curves_have_no_bands():
    curves = [curve(f"m{number}", [0.9, 0.5], number) for number in range(MAX_BANDS + 1)]
    assert read_page(str(lines("Leaderboard", curves, UNIT, "f").svg)).all("path", "band") == []
    assert len(read_page(str(lines("Leaderboard", curves[:-1], UNIT, "f").svg)).all("path", "band")) == MAX_BANDS


def test_many_names_at_the_ends_of_curves_stay_inside_the_picture():
    curves = [curve(f"m{number}", [0.9, 0.5], number) for number in range(40)]
    svg = read_page(str(lines("Leaderboard", curves, UNIT, "f").svg)).one("svg")
    bottom = float(svg.attributes["viewbox"].split()[3])
    assert all(float(node.attributes["y"]) <= bottom for node in svg.all("text"))


def test_a_long_label_is_cut_and_its_table_is_not():
    name = "a" * 60
    chart = dot_plot("All", (name,), [profile("m", 0.5)], UNIT)
    assert short(name) in read_page(str(chart.svg)).text
    assert name not in read_page(str(chart.svg)).text.replace(chart.summary, "")
    assert chart.head == ("model", name)
