from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from markupsafe import Markup

from lookaway.core import Abstention, Failure, Lock, Reason, Score, Unit, UnknownName, UserError
from lookaway.reports.case_page.videos import case_videos
from lookaway.reports.leaderboards import leaderboards, matrix
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building, index
from lookaway.reports.site.building import build_site
from lookaway.reports.site.case_grid import CasePage
from lookaway.reports.site.facts import counts, dates, facts, judges_of
from lookaway.reports.site.index import Section, placed
from lookaway.reports.site.media import SiteMedia
from lookaway.reports.site.slices import subset_tables
from lookaway.reports.site.tables import TO
from lookaway.statistics.paired_difference import paired_difference
from tests.reports.site.page import read_page
from tests.reports.site.simulated import ABSTAINED, KINDS, Simulated
from tests.support.runs import write_about

pytestmark = pytest.mark.usefixtures("tried_on_frozen")

STYLE, TEXTURE, LIGHT = (
    "mbencht.environment.rendering_style",
    "mbencht.object.object_texture",
    "mbencht.environment.rendering_lighting",
)
SKILLS = {"good": 0.8, "fair": 0.6, "poor": 0.3}
OFTEN = dict.fromkeys(SKILLS, 0.95)


def board_rows(page, title: str) -> dict[str, list[str]]:
    """The cells of a board by model, from the left."""
    leaderboard = next(
        node for node in page.all("details", "board") if node.one("h4").text == title and node.all("table", "ranked")
    )
    return {
        row.one("th").all("bdi")[0].text: [cell.text for cell in row.all("td")]
        for row in leaderboard.one("tbody").all("tr")
    }


def overview_rows(page) -> dict[str, list]:
    """The cells of the leaderboard by model, in the order of the page."""
    return {row.one("th").text: row.all("td") for row in page.one("table", "over-all").one("tbody").all("tr")}


def warning_texts(page) -> list[str]:
    found = page.all("section", "warnings")
    return [node.text.strip() for node in found[0].all("li")] if found else []


def test_the_answer_stands_before_the_warnings_and_the_facts_of_runs_after_the_leaderboards(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=5, triggered=OFTEN).write()
    page = build_index(run)
    places = [node.attributes.get("id", "") or node.attributes.get("class", "") for node in page.all()]
    leaderboard = next(n for n, p in enumerate(places) if "-leaderboard" in p)
    answer = next(n for n, p in enumerate(places) if p.startswith("answer"))
    assert answer < places.index("warnings") < leaderboard < places.index("funnel")


def test_warnings_are_one_line_until_they_are_opened(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=5, triggered=OFTEN).write()
    section = build_index(run).one("section", "warnings")
    folded = section.all("details")[0]
    assert "open" not in folded.attributes
    assert len(section.children) == len([node for node in section.children if node is folded or node == "\n"])
    assert folded.all("summary")[0].text.partition(" warnings")[0].isdigit()


def test_a_run_that_lacks_nothing_but_a_card_warns_of_nothing_else(tmp_path, build_index):
    page = build_index(
        Simulated(path=tmp_path / "run", skills={"good": 0.8}, metrics=[STYLE], triggered={"good": 1.0}).write()
    )
    assert [text for text in warning_texts(page) if "no card for this size and rate" not in text] == []
    assert "Nothing is missing" in page.text


def test_every_lack_is_warned_of(tmp_path, build_index):
    lacks = {
        0: Failure("ValueError", "broke"),
        1: Abstention(Reason.MISSING_VIDEO, "gone."),
        2: Abstention(Reason.MISSING_WEIGHTS, "none."),
        3: ABSTAINED,
    }
    run = Simulated(
        path=tmp_path / "run",
        skills=SKILLS,
        metrics=[STYLE, "mbencht.environment.never_installed"],
        scenes=20,
        decide=lambda model, number, metric: lacks.get(number) if metric == STYLE else None,
        about={"problems": [{"where": "line 3", "message": "no video."}]},
    ).write()
    said = " ".join(warning_texts(build_index(run)))
    for part in (
        "Raw consistency",
        "3 measurements failed",
        "could not be made here: missing_weights",
        "3 of 60 videos are missing",
        "1 problem",
        "line 3: no video.",
        "1 metric not installed here",
        "cells miss more than 5%",
        "are imprecise (†)",
    ):
        assert part in said, part


def test_what_is_not_measured_yet_is_warned_of(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=12, triggered=OFTEN).write()
    for part in (tmp_path / "run" / "outcomes").glob("*.parquet"):
        part.unlink()
    page = build_index(run)
    assert warning_texts(page)[0] == "Nothing has a score, so there are no numbers on this page."
    assert any("72 of 72 measurements are not made yet" in text for text in warning_texts(page))


def test_a_closed_gate_is_no_lack_of_the_measurement(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], triggered=dict.fromkeys(SKILLS, 0.5)).write()
    assert not any("miss more than" in text for text in warning_texts(build_index(run)))


def test_different_locks_never_share_a_column(tmp_path, build_index):
    one = Simulated(path=tmp_path / "one", skills=SKILLS, metrics=[STYLE], locks={STYLE: "a" * 32}).write()
    two = Simulated(path=tmp_path / "two", skills={"new": 0.9}, metrics=[STYLE], locks={STYLE: "b" * 32}).write()
    page = build_index(one, two)
    assert set(board_rows(page, f"{STYLE} · lock aaaaaaaa")) == set(SKILLS)
    assert set(board_rows(page, f"{STYLE} · lock bbbbbbbb")) == {"new"}
    heads = [node.text for node in page.one("table", "over-all").all("tr")[1].all("th")]
    assert heads == ["Model", "rendering style · aaaaaaaa", "rendering style · bbbbbbbb"]
    (line,) = (row for row in page.one("table", "over-all").one("tbody").all("tr") if "new" in row.text)
    assert [cell.text[:1] for cell in line.all("td")] == ["-", "0"]
    (warned,) = (text for text in warning_texts(page) if "locks aaaaaaaa and bbbbbbbb" in text)
    assert "metrics.mbencht.environment.rendering_style.metric.lock" in warned
    with (tmp_path / "site" / "data" / "pairs.csv").open() as file:
        assert not any("new" in row.values() for row in csv.DictReader(file))


def test_models_of_several_runs_share_a_table_under_the_same_lock(tmp_path, build_index):
    one = Simulated(path=tmp_path / "one", skills={"old": 0.5}, metrics=[STYLE]).write()
    two = Simulated(path=tmp_path / "two", skills={"new": 0.9}, metrics=[STYLE]).write()
    page = build_index(one, two)
    assert [row[:2] for row in board_rows(page, STYLE).values()] == [["1", "A"], ["2", "B"]]
    assert list(board_rows(page, STYLE)) == ["new", "old"]
    assert not any("measured it differently" in text for text in warning_texts(page))


def test_a_model_of_two_runs_is_two_models(tmp_path, build_index):
    one = Simulated(path=tmp_path / "one", skills={"same": 0.5}, metrics=[STYLE]).write()
    two = Simulated(path=tmp_path / "two", skills={"same": 0.9}, metrics=[STYLE], scenes=30).write()
    page = build_index(one, two)
    assert list(board_rows(page, STYLE)) == ["same (two)", "same (one)"]
    said = " ".join(warning_texts(page))
    assert "1 model in several runs under the same name" in said
    assert "one and two have different cases: 30 in both, 10 in only one" in said


def test_suites_are_never_mixed(tmp_path, build_index):
    metric = "environment.rendering_style"
    runs = [
        Simulated(path=tmp_path / suite, skills={suite: 0.5}, metrics=[f"x.{metric}"], suite=suite).write()
        for suite in ("mbench-a", "mbench-t")
    ]
    page = build_index(*runs)
    tables = page.all("table", "over-all")
    assert [[th.text for th in table.one("tbody").all("th")] for table in tables] == [["mbench-a"], ["mbench-t"]]
    assert page.all("section", "pairs") == []
    assert len(page.all("section", "suite")) == 2


def test_the_same_run_gives_the_same_bytes(tmp_path, build_index):
    run = Simulated(
        path=tmp_path / "run", skills=SKILLS, metrics=[STYLE, TEXTURE], scenes=12, seeds=2, frames=8, triggered=OFTEN
    ).write()
    for name in ("first", "second"):
        build_index(run, output=tmp_path / name)
    files = sorted(path.relative_to(tmp_path / "first") for path in (tmp_path / "first").rglob("*") if path.is_file())
    assert Path("index.html") in files
    assert Path("data/table.csv") in files
    for file in files:
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes(), file


@pytest.mark.parametrize("skills", [{}, SKILLS])
def test_a_run_without_any_score_has_a_page_that_says_so(tmp_path, build_index, skills):
    run = Simulated(
        path=tmp_path / "run", skills=skills, metrics=[STYLE], scenes=3, decide=lambda *place: ABSTAINED
    ).write()
    page = build_index(run)
    assert "Nothing has a score, so there are no numbers on this page." in warning_texts(page)
    assert page.all("table", "matrix") == []
    assert page.all("svg", "chart") == []


def test_one_model_alone_is_compared_with_nobody(tmp_path, build_index):
    run = Simulated(
        path=tmp_path / "run", skills={"alone": 0.7}, metrics=[STYLE, TEXTURE, LIGHT], triggered={"alone": 1}
    ).write()
    page = build_index(run)
    assert board_rows(page, STYLE)["alone"][:2] == ["1", "A"]
    assert page.all("table", "matrix") == []
    assert page.one("h1").text == "alone"


def test_models_of_equal_skill_cannot_be_told_apart_and_share_a_rank_range(tmp_path, build_index):
    skills = {"best": 0.9, "twin one": 0.5, "twin two": 0.5}
    page = build_index(Simulated(path=tmp_path / "run", skills=skills, metrics=[STYLE]).write())
    rows = board_rows(page, STYLE)
    assert rows["best"][:2] == ["1", "A"]
    assert {tuple(rows[name][:2]) for name in ("twin one", "twin two")} == {(f"2{TO}3", "B")}
    cells = [cell.text for cell in page.one("table", "matrix").one("tbody").all("td")]
    assert [cell[:1] for cell in cells] == ["▲", "▲", "", "≈"]
    assert all("q <0.001" in cell for cell in cells[:2])
    best = page.one("table", "over-all").all("td", "best")
    assert len(best) == 1


def test_where_lower_is_better_the_lowest_leads(tmp_path, build_index):
    metric = "mbencht.environment.mse"
    page = build_index(Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[metric]).write())
    assert list(board_rows(page, metric)) == ["poor", "fair", "good"]
    assert [cell.text[:3] for cell in page.one("table", "matrix").one("tbody").all("td")] == ["▲ -", "▲ -", "", "▲ -"]
    assert page.one("table", "over-all").all("th")[2].attributes["data-better"] == "low"


def test_a_number_of_few_values_has_a_mark_and_an_interval_and_no_rank(tmp_path, build_index):
    run = Simulated(
        path=tmp_path / "run",
        skills=SKILLS,
        metrics=[STYLE],
        decide=lambda model, number, metric: ABSTAINED if model == "good" and number >= 9 else None,
    ).write()
    page = build_index(run)
    rows = board_rows(page, STYLE)
    assert list(rows) == ["fair", "poor", "good"]
    assert rows["good"][:2] == ["-", "-"]
    assert re.fullmatch(rf"0\.\d{{3}}‡0\.\d{{3}}{TO}0\.\d{{3}}", rows["good"][2])
    assert any("1 of 3 cells has fewer than 20 scenes" in text for text in warning_texts(page))
    assert rows["fair"][:2] == ["1", "A"]
    assert rows["good"][4].startswith("9 of 40")
    assert "too_few_matches 31" in rows["good"][-1]
    assert any("good, mbencht.environment.rendering_style: 9 of 40" in text for text in warning_texts(page))
    with (tmp_path / "site" / "data" / "table.csv").open() as file:
        marks = {row["model"]: (row["mark"], row["rank_best"]) for row in csv.DictReader(file)}
    assert marks["good"] == ("not_estimable", "")


def test_where_no_mean_can_be_compared_a_sentence_stands_in_place_of_an_empty_chart(tmp_path, build_index):
    run = Simulated(
        path=tmp_path / "run",
        skills=SKILLS,
        metrics=[STYLE, TEXTURE],
        decide=lambda model, number, metric: ABSTAINED if number >= 9 else None,
    ).write()
    page = build_index(run)
    assert "No model has a value that can be compared." in [note.text for note in page.all("p", "note")]
    assert not [figure for figure in page.all("figure") if "Means of all models" in figure.text]


def test_a_gate_gives_coverage_and_m_score_and_marks_the_controls(tmp_path, build_index):
    skills = {"frozen": 0.9, "perfect": 0.95, "model": 0.6}
    triggered = {"frozen": 0.4, "perfect": 1.0, "model": 0.9}
    run = Simulated(path=tmp_path / "run", skills=skills, metrics=[STYLE], triggered=triggered).write()
    page = build_index(run, controls=("frozen=a still video", "perfect"))
    table = page.one("table", "ranked")
    heads = [node.text for node in table.one("thead").all("th")]
    assert heads[-3:] == ["Triggered", "M-Score", "Not scored"]
    cell = {row.cell.model: row.cell for row in leaderboards(load_runs([run.path]))[0].rows}["frozen"]
    assert board_rows(page, STYLE)["frozen"][6].startswith(f"{cell.gated.coverage.mean:.3f}")
    assert board_rows(page, STYLE)["frozen"][7].startswith(f"{cell.gated.combined.mean:.3f}")
    tags = {row.one("th").all("bdi")[0].text for row in table.one("tbody").all("tr") if row.all("small", "tag")}
    assert tags == {"frozen", "perfect"}
    labels = {node.text for figure in page.all("figure") for node in figure.all("text", "label")}
    assert {"frozen (control)", "perfect (control)", "model"} <= labels


def test_no_control_has_a_rank_or_is_the_best_and_all_stand_below(tmp_path, build_index):
    skills = {"frozen": 0.95, "perfect": 0.99, "model": 0.6, "other": 0.4}
    run = Simulated(path=tmp_path / "run", skills=skills, metrics=[STYLE, TEXTURE]).write()
    page = build_index(run, controls=("frozen", "perfect"))
    for metric in (STYLE, TEXTURE):
        rows = board_rows(page, metric)
        assert list(rows) == ["model", "other", "perfect", "frozen"]
        assert [rows[model][:2] for model in rows] == [["1", "A"], ["2", "B"], ["-", "-"], ["-", "-"]]
    assert {node.text.rpartition("best: ")[2] for node in page.all("span", "meta") if "best" in node.text} == {"model"}
    lines = overview_rows(page)
    assert list(lines) == ["model", "other", "perfect control", "frozen control"]
    best = {name: [cell.attributes.get("class") == "best" for cell in cells] for name, cells in lines.items()}
    assert best == {name: [name == "model"] * 2 for name in lines}
    assert not any("rank" in cell.text for name in list(lines)[2:] for cell in lines[name])
    with (tmp_path / "site" / "data" / "table.csv").open() as file:
        ranks = {row["model"]: (row["rank_best"], row["tie_group"]) for row in csv.DictReader(file)}
    assert ranks == {"model": ("1", "1"), "other": ("2", "2"), "frozen": ("", ""), "perfect": ("", "")}


def test_no_model_is_a_control_by_its_name(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills={"frozen": 0.9, "perfect": 0.6}, metrics=[STYLE]).write()
    rows = board_rows(build_index(run), STYLE)
    assert {model: row[0] for model, row in rows.items()} == {"frozen": "1", "perfect": "2"}


def test_a_control_that_no_run_has_is_refused_with_the_nearest_model(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={"frozen": 0.9, "model": 0.6}, metrics=[STYLE]).write()
    with pytest.raises(UnknownName, match="Did you mean 'frozen'"):
        load_runs([run.path], ["frozn=a still video"])


def test_controls_are_compared_with_all_others(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={"frozen": 0.9, "model": 0.6}, metrics=[STYLE]).write()
    (leaderboard,) = leaderboards(load_runs([run.path], ["frozen"]))
    assert matrix(leaderboard).models == ("model", "frozen")


def test_the_leaderboard_is_in_order_of_ranks_with_interval_rank_range_and_support(tmp_path, build_index):
    skills = {"a poor": 0.3, "b good": 0.8, "c fair": 0.6}
    page = build_index(Simulated(path=tmp_path / "run", skills=skills, metrics=[STYLE, TEXTURE]).write())
    lines = overview_rows(page)
    assert list(lines) == ["b good", "c fair", "a poor"]
    estimate = {row.model: row.cell.estimate for row in leaderboards(load_runs([tmp_path / "run"]))[0].rows}["b good"]
    assert [part.text for part in lines["b good"][0].all("small")] == [
        f"{estimate.low:.3f}{TO}{estimate.high:.3f}",
        "rank 1 · 40 of 40",
    ]
    assert lines["b good"][0].text.startswith(f"{estimate.mean:.3f}")


def test_the_leaderboard_of_a_gated_track_shows_how_often_models_were_tested(tmp_path, build_index):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], triggered=dict.fromkeys(SKILLS, 0.6)).write()
    page = build_index(run)
    for row in leaderboards(load_runs([run.path]))[0].rows:
        notes = [part.text for part in overview_rows(page)[row.model][0].all("small")]
        gated = row.cell.gated
        assert notes[1].endswith(f" · {row.cell.scored} of 40")
        assert notes[2:] == [f"triggered {gated.coverage.mean:.3f}", f"M-Score {gated.combined.mean:.3f}"]


def test_heads_below_a_subset_do_not_repeat_it(tmp_path, build_index):
    metrics = [STYLE, "mbencht.object.rendering_style", "mbencht.object.object_texture"]
    page = build_index(Simulated(path=tmp_path / "run", skills=SKILLS, metrics=metrics).write())
    first, second = page.one("table", "over-all").one("thead").all("tr")
    assert [node.text for node in first.all("th")] == ["environment", "object"]
    assert [node.text for node in second.all("th")][1:] == ["rendering style", "rendering style", "object texture"]
    axes = page.one("div", "legend").one("ol")
    assert [node.text for node in axes.all("li")] == [
        "rendering_style on environment",
        "rendering_style on object",
        "object_texture",
    ]


def test_without_a_gate_there_is_no_coverage(tmp_path, build_index):
    page = build_index(Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE]).write())
    assert "M-Score" not in page.one("main").text
    assert "no gate" in page.one("dl", "funnel").text


@pytest.mark.parametrize(("suite", "said"), [("mbench-t", "Raw consistency"), ("mbench-a", "no gate checks")])
def test_a_still_video_that_may_win_is_warned_of_once(tmp_path, build_index, suite, said):
    page = build_index(Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], suite=suite).write())
    about_stillness = [text for text in warning_texts(page) if "still" in text]
    assert len(about_stillness) == 1
    assert said in about_stillness[0]


def test_pairs_rest_on_the_rollouts_that_passed_the_gate(tmp_path):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], triggered=dict.fromkeys(SKILLS, 0.6)).write()
    (leaderboard,) = leaderboards(load_runs([run.path]))
    for row in leaderboard.rows:
        assert len(row.values.values) == row.cell.scored < 40
        assert row.values.values.mean() == pytest.approx(row.cell.estimate.mean, abs=1e-12)


def test_a_matrix_is_a_family_of_its_own(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={f"m{n}": 0.5 for n in range(4)}, metrics=[STYLE, TEXTURE]).write()
    for leaderboard in leaderboards(load_runs([run.path])):
        found = matrix(leaderboard)
        assert found.family == 6
        assert found.significant_pairs == sum(pair.q < 0.05 for pair in found.pairs.values())
        for (one, other), pair in found.pairs.items():
            a, b = (leaderboard.comparable[place].values for place in (one, other))
            assert pair.found.difference.mean == pytest.approx(a.values.mean() - b.values.mean())
            assert pair.q >= pair.found.sign_flip.p


def test_seeds_are_shown_and_not_pooled_away(tmp_path, build_index):
    values = {"0": 0.25, "1": 0.75}
    sure = Simulated(path=tmp_path / "run", skills={"model": 0.5}, metrics=[STYLE], seeds=2, scenes=10)
    run = type("BySeed", (Simulated,), {"outcome": lambda self, rollout, number, name: Score(values[rollout.seed])})(
        **vars(sure)
    ).write()
    page = build_index(run)
    spread = next(table for table in page.all("table") if table.one("caption").text == "Spread over seeds")
    assert spread.one("td").text == f"±0.3540.250{TO}0.750 of 2"


def test_one_seed_has_no_spread(tmp_path, build_index):
    page = build_index(Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE]).write())
    assert "By seed" not in page.text


def test_curves_are_drawn_of_metrics_with_frames_and_only_of_those(tmp_path, build_index):
    with_frames = Simulated(path=tmp_path / "a", skills=SKILLS, metrics=[STYLE], scenes=10, frames=6).write()
    page = build_index(with_frames)
    (figure,) = (node for node in page.all("figure") if node.all("path", "line"))
    assert [node.text for node in figure.one("table").all("th")][1:4] == ["fair", "good", "poor"]
    assert len(figure.all("path", "line")) == len(figure.all("path", "band")) == 3
    without = build_index(Simulated(path=tmp_path / "b", skills=SKILLS, metrics=[STYLE], scenes=10).write())
    assert "Drift" not in without.text


@pytest.mark.parametrize("kind", ["camera_interaction", "rendering_style"])
def test_phases_of_clips_have_a_table_whatever_the_metric(tmp_path, build_index, kind):
    metric = f"mbencha.environment.{kind}"
    units = (
        Unit("phase0", Score(0.25)),
        Unit("phase1", Score(0.5)),
        Unit("phase10", ABSTAINED),
        Unit("f0_f1", Score(1.0)),
    )
    run = Simulated(
        path=tmp_path / "run",
        skills=SKILLS,
        metrics=[metric],
        scenes=10,
        suite="mbench-a",
        decide=lambda *place: Score(0.375, units=units),
    ).write()
    table = next(table for table in build_index(run).all("table") if table.one("caption").text == metric)
    assert [node.text for node in table.one("thead").all("th")] == ["Model", "phase0", "phase1"]
    shown = [node.text for node in table.one("tbody").all("tr")[0].all("td")]
    assert [(text[:5], text[-6:]) for text in shown] == [("0.250", ", n 10"), ("0.500", ", n 10")]
    ends = [[float(end) for end in text[5:-6].split(TO)] for text in shown]
    assert all(0 < low < mean < high < 1 for mean, (low, high) in zip((0.25, 0.5), ends, strict=True))


def test_subsets_of_one_metric_stand_side_by_side(tmp_path):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE, TEXTURE]).write()
    one, other = leaderboards(load_runs([run.path]))
    assert subset_tables([one, other]) == []
    elsewhere = replace(one, subset="elsewhere", rows=one.rows[:2])
    (table,) = subset_tables([one, other, elsewhere])
    assert (table.title, table.parts) == (STYLE, ("environment", "elsewhere"))
    assert [(model, [estimate is None for estimate in found]) for model, found in table.rows] == [
        ("fair", [False, False]),
        ("good", [False, False]),
        ("poor", [False, True]),
    ]
    assert elsewhere.title == f"{STYLE} on elsewhere"


@pytest.mark.merge
def test_a_large_leaderboard_stays_below_its_budget(tmp_path, build_index, monkeypatch):
    """Differences of all pairs are the same one here: their time is not what is tested."""
    subsets = ("environment", "object", "human", "causal", "entity", "room", "face", "state")
    skills = {f"model with a long name {number:02d}": 0.3 + 0.02 * number for number in range(25)}
    run = Simulated(
        path=tmp_path / "run",
        skills=skills,
        metrics=[f"mbencht.{subset}.{kind}" for subset in subsets for kind in KINDS],
        scenes=10,
        triggered=dict.fromkeys(skills, 1.0),
    ).write()
    known = []

    def once(one, other, **limits):
        known[:] = known or [paired_difference(one, other, **limits)]
        return known[0]

    monkeypatch.setattr("lookaway.reports.leaderboards.paired_difference", once)
    page = build_index(run)
    assert (tmp_path / "site" / "index.html").stat().st_size <= 3_000_000
    tables = page.all("table", "over-all")
    assert [len(table.one("tbody").all("tr")) for table in tables] == [25] * 6
    assert max(len(table.one("tbody").all("tr")[0].all("td")) for table in tables) == index.MAX_COLUMNS
    elsewhere = [node.attributes["href"] for node in page.one("nav").all("a") if node.attributes["href"][0] != "#"]
    for name in elsewhere:
        assert (tmp_path / "site" / name).stat().st_size <= 3_000_000


def test_a_section_without_room_has_a_page_of_its_own(tmp_path, build_index, monkeypatch):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE, TEXTURE, LIGHT], scenes=12).write()
    whole = build_index(run)
    pairs = next(node for node in whole.all("section") if "pairs" in node.attributes.get("aria-labelledby", ""))
    monkeypatch.setattr(index, "ROOM", 0)
    page = build_index(run)
    assert page.all("table", "matrix") == []
    (href,) = {n.attributes["href"] for n in page.all("a") if n.text == "Pairs"}
    moved = read_page((tmp_path / "site" / href).read_text())
    titles = [node.one("a").text for node in page.all("p", "elsewhere")]
    assert titles == ["Leaderboard", "Two models", "Metric by metric", "Pairs", "Profiles", "Runs", "Reproduce"]
    assert [t.text for t in moved.all("table", "matrix")] == [t.text for t in pairs.all("table", "matrix")]


def test_the_room_of_the_index_is_for_all_sections_together():
    found = [Section(suite="s", title=name, anchor=name, html=Markup("ä" * 10)) for name in "abc"]
    assert [section.page for section in placed(found, 40)] == [None, None, "c.html"]
    assert [section.href for section in placed(found, 39)] == ["#a", "b.html", "c.html"]


def test_cases_link_to_their_pages(tmp_path, build_index, monkeypatch):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=2).write()
    page = CasePage(id="environment:sample_001", href="items/x.html", title="Sample, turn left", subset="environment")
    monkeypatch.setattr(building, "write_items", lambda runs, output: {page.id: page})
    written = build_site(load_runs([run.path]), tmp_path / "site")
    (link,) = read_page(written.read_text()).one("section", None, **{"aria-labelledby": "cases"}).all("a")
    assert (link.attributes["href"], link.text) == ("items/x.html", "Sample, turn left")


def test_facts_come_from_lock_and_events(tmp_path):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=2).write()
    events = tmp_path / "run" / "events.jsonl"
    assert dates(events) == ("", "")
    events.write_text('{"time": 0.0, "event": "measured"}\n{"time": 86400, "event": "measured"}\n{"time": 9')
    assert dates(events) == ("1970-01-01 00:00 UTC", "not known")
    events.write_text('{"time": 0.0, "event": "measured"}\n{"time": 86400, "event": "measured"}\n')
    assert dates(events) == ("1970-01-01 00:00 UTC", "1970-01-02 00:00 UTC")
    (site,) = load_runs([run.path])
    assert judges_of(site) == []
    assert dict(facts(site))["Dataset"] == "dataset_id made"


def test_a_video_that_two_metrics_miss_is_missing_once(tmp_path):
    gone = Abstention(Reason.MISSING_VIDEO, "gone.")
    run = Simulated(
        path=tmp_path / "run",
        skills=SKILLS,
        metrics=[STYLE, LIGHT],
        scenes=5,
        decide=lambda model, number, metric: gone if number == 0 else None,
    ).write()
    found = counts(load_runs([run.path])[0])
    assert (found.expected, found.produced, found.valid, found.judged) == (15, 12, 12, None)
    assert (found.asked, found.scored, found.failed, dict(found.reasons)) == (30, 24, 0, {"missing_video": 6})


def test_rollouts_of_subsets_that_no_metric_is_about_are_counted_nowhere_and_told(tmp_path, build_index):
    asked, unasked = STYLE, "mbencht.causal.rendering_style"
    written = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[asked, unasked], scenes=5).write()
    about = {**written.about, "metrics": [entry for entry in written.about["metrics"] if entry["name"] == asked]}
    write_about(tmp_path / "run", about)
    (run,) = load_runs([tmp_path / "run"])
    found = counts(run)
    assert (found.expected, found.produced, found.valid) == (15, 15, 15)
    assert dict(facts(run))["Not measured"] == "15 rollouts of subsets that no metric covers"
    assert {case.id for case in case_videos([run], SiteMedia(tmp_path / "site"))} == {
        f"environment:sample_{number:03d}" for number in range(5)
    }
    whole = Simulated(path=tmp_path / "whole", skills=SKILLS, metrics=[asked], scenes=5).write()
    assert "Not measured" not in dict(facts(load_runs([whole.path])[0]))


def test_the_judge_is_named_as_it_named_itself(tmp_path):
    (site,) = load_runs([Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=2).write().path])
    judge = {"backend": "server", "model": "asked-for", "reported": "answered"}
    lock = Lock({"metrics": {"a": {"features": {"verdict": {"judge": judge}}}}})
    assert judges_of(replace(site, lock=lock)) == ["answered (server)"]


def test_a_run_cannot_be_given_twice(tmp_path):
    run = Simulated(path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=2).write()
    with pytest.raises(UserError, match="more than once"):
        load_runs([run.path, tmp_path / "." / "run"])


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for folder in ("a", "b"):
        Simulated(path=tmp_path / folder / "run", skills=SKILLS, metrics=[STYLE], scenes=2).write()
    assert [run.name for run in load_runs([tmp_path / "a" / "run", tmp_path / "b" / "run"])] == ["a/run", "b/run"]


def test_the_command_has_no_paths_of_this_machine(tmp_path, build_index):
    run = Simulated(
        path=tmp_path / "run", skills=SKILLS, metrics=[STYLE], scenes=12, about={"dataset": "/home/me/set"}
    ).write()
    build_index(run)
    text = (tmp_path / "site" / "index.html").read_text()
    assert re.search(f"lookaway eval set -o again-[0-9a-f]{{8}} --suite mbench-t --metrics={STYLE}", text)
    assert "pip install" not in text
    assert "/home/me" not in text
    assert str(tmp_path) not in text
