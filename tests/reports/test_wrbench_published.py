"""The published results of WRBench: what they say, and what our marks say about them."""

from __future__ import annotations

import json
import re

import pytest

from lookaway.core import UserError
from lookaway.reports.wrbench.dimensions import (
    AVERAGED,
    PRECISION,
    best_models,
    dimension_correlations,
    is_low_n,
    published_average,
)
from lookaway.reports.wrbench.published import COLUMNS, read_published_models, weighted_means
from lookaway.statistics.precision import Mark
from tests.support.beside import DATA, SHARED, needs_beside, needs_results
from tests.support.command import lookaway

RESULTS = DATA / "wrbench" / "results"
PAPER = SHARED / "seeds" / "003_1256e812dc7f7cf6.txt"
CSV = RESULTS / "wrbench_23model_results.csv"
JSON = CSV.with_suffix(".json")


@pytest.fixture(scope="module")
def rows():
    return {row.model: row for row in read_published_models(CSV)}


@needs_results
def test_csv_and_json_of_the_published_results_are_one_table(rows):
    others = {row.model: row for row in read_published_models(JSON)}
    assert len(rows) == 23
    assert others.keys() == rows.keys()
    for model, row in rows.items():
        other = others[model]
        assert (other.condition, other.outputs, other.published.is_low_n) == (
            row.condition,
            row.outputs,
            row.published.is_low_n,
        )
        assert other.published.values == pytest.approx(row.published.values, abs=1e-9)


@needs_results
def test_support_has_the_interval_of_wilson(rows):
    happy = rows["happyhorse_1_0_i2v"].support
    assert happy.mean == pytest.approx(31 / 300)
    assert (happy.low, happy.high) == pytest.approx((0.0738, 0.1430), abs=1e-4)
    three = rows["wanx2_1_i2v_turbo"].support
    assert (three.low, three.high) == pytest.approx((0.0034, 0.0290), abs=1e-4)


@needs_results
def test_totals_and_weighted_means_are_those_of_the_results_file(rows):
    found = weighted_means(list(rows.values()))
    means = [found[name][0] for name in (PRECISION, *AVERAGED)]
    published = [0.702164, 0.460351, 0.793863, 0.769871, 0.590682, 0.661170, 0.612556]
    assert means == pytest.approx(published, abs=1e-6)
    assert [found[name][1] for name in (PRECISION, *AVERAGED)] == [7500, 7800, 9600, 9600, 9600, 2073, 2073]
    assert sum(row.outputs for row in rows.values()) == 9600
    checks = json.loads(JSON.read_text())["aggregate_checks"]
    assert found["D5"][0] == pytest.approx(checks["D5"]["weighted_mean_from_rows"], abs=1e-9)


@needs_results
def test_average_and_low_n_flag_follow_from_the_published_numbers(rows):
    for row in rows.values():
        assert row.published.average == pytest.approx(published_average(row.published.values), abs=1e-9)
        passed = row.cells["D5"].estimate.scored
        assert row.published.is_low_n == is_low_n(passed, row.outputs)
    assert sum(row.published.is_low_n for row in rows.values()) == 8


@needs_results
def test_the_best_published_cell_of_three_clips_is_not_estimable(rows):
    turbo = rows["wanx2_1_i2v_turbo"]
    assert max(row.published.values["D5"] for row in rows.values()) == turbo.published.values["D5"]
    assert turbo.cells["D5"].precision.mark is Mark.NOT_ESTIMABLE
    assert not turbo.cells["D6"].is_estimable
    assert best_models(list(rows.values()), "corrected")["prompt-only", "D5"][0] == "happyhorse_1_0_i2v"


@needs_results
def test_there_is_no_average_over_what_is_not_estimable(rows):
    without = {model for model, row in rows.items() if row.average is None}
    assert without == {"wanx2_1_i2v_turbo", "wan2_2_i2v_plus"}
    for model, row in rows.items():
        if model not in without:
            assert row.average == pytest.approx(row.published.average, abs=1e-9)


@needs_results
def test_daggers_follow_from_precision_and_not_from_the_published_rule(rows):
    marks = {model: row.cells["D5"].precision.mark for model, row in rows.items()}
    precise = {model for model, mark in marks.items() if mark is Mark.NONE}
    assert precise == {
        *("gen3c", "hunyuan_worldplay", "hydra", "inspatio_world_14b", "liveworld", "recammaster", "spatia"),
        *("versecrafter", "wan21_fun_14b_cam", "wan22_fun_a14b_cam"),
    }
    assert all(row.cells["D3"].precision.mark is Mark.NONE for row in rows.values())
    unflagged = {
        model for model, mark in marks.items() if mark is Mark.IMPRECISE and not rows[model].published.is_low_n
    }
    assert "happyhorse_1_0_i2v" in unflagged


@needs_results
def test_the_best_cell_is_that_of_one_viewpoint_condition(rows):
    best = best_models(list(rows.values()), "corrected")
    assert {condition for condition, _ in best} == {"source-video", "geometry-cache", "model-inferred", "prompt-only"}
    for (condition, _), models in best.items():
        assert {rows[model].condition for model in models} == {condition}
    assert best["source-video", "support"] == ["inspatio_world_14b", "recammaster"]
    assert best["geometry-cache", "support"] == ["gen3c", "versecrafter"]
    assert ("prompt-only", PRECISION) not in best


@needs_results
def test_correlations_over_models_are_those_of_the_paper(rows):
    found = {
        (one.first, one.second): one for one in dimension_correlations(list(rows.values()), "published", shuffles=9)
    }
    expected = {
        ("D3", "D4"): 0.97,
        ("D5", "D6"): 0.94,
        ("support", "D3"): -0.42,
        ("support", "D2"): -0.15,
        ("support", "D6"): -0.15,
    }
    for pair, value in expected.items():
        assert found[pair].pearson.value == pytest.approx(value, abs=0.01), pair
        assert found[pair].models == 23
    across = [found[one, other].pearson.value for one in ("D3", "D4") for other in ("D5", "D6")]
    assert (min(across), max(across)) == pytest.approx((0.60, 0.79), abs=0.01)
    # Two of 23 models have no estimable D5; support against D2 could be anything around 0.
    low, high = found["support", "D2"].pearson.interval
    assert low < -0.5 < 0.2 < high
    ours = {
        (one.first, one.second): one for one in dimension_correlations(list(rows.values()), "corrected", shuffles=9)
    }
    assert (ours["D5", "D6"].models, ours["D3", "D4"].models) == (21, 23)


def paper_lines():
    """The rows of the paper's table of models: its text, shares, and numbers with three digits."""
    text = PAPER.read_text(encoding="utf-8").partition("Table 2: Model-level")[2].partition("### Diagnostic")[0]
    for line in text.splitlines():
        numbers = [float(number) for number in re.findall(r"0\.\d{3}(?!\d)", line)]
        if len(numbers) >= 7 and (share := re.search(r"(\d+\.\d)%", line)):
            yield line, float(share[1]) / 100, numbers


@needs_results
@needs_beside(PAPER, "the text of a paper")
def test_the_paper_prints_these_numbers_but_for_three_averages_of_rounded_numbers(rows):
    others = {}
    for line, share, numbers in paper_lines():
        *dimensions, average = numbers
        names = AVERAGED if len(dimensions) == len(AVERAGED) else (PRECISION, *AVERAGED)
        (row,) = [
            row
            for row in rows.values()
            if [row.published.values.get(name) for name in names] == pytest.approx(dimensions, abs=0.0005 + 1e-9)
            and row.support.mean == pytest.approx(share, abs=0.0005 + 1e-9)
        ]
        assert (PRECISION in row.published.values) == (PRECISION in names)
        assert row.published.is_low_n == ("\u2020" in line or "dagger" in line)
        if row.published.average != pytest.approx(average, abs=0.0005 + 1e-9):
            others[row.model] = (average, sum(dimensions[-6:]) / 6)
    assert others.keys() == {"hunyuan_worldplay", "lingbot_world", "wan21_fun_14b_cam"}
    for printed, mean_of_rounded in others.values():
        assert printed == pytest.approx(mean_of_rounded, abs=0.0005 + 1e-9)
    assert len(list(paper_lines())) == 23


@needs_results
def test_the_text_to_video_addendum_is_refused_with_what_is_missing():
    with pytest.raises(UserError, match=r"the columns n_outputs, .* are missing"):
        read_published_models(RESULTS / "wrbench_t2v_results.json")


@needs_results
def test_the_command_prints_the_published_table_with_our_marks():
    result = lookaway("wrbench", "table", CSV, "--protocol", "corrected")
    assert result.code == 0
    (line,) = [line for line in result.out.splitlines() if line.startswith("wanx2_1_i2v_turbo")]
    assert "not estimable (3)" in line
    assert line.split()[-1] == "-"
    listed = json.loads(lookaway("wrbench", "table", CSV, "--protocol", "corrected", "--json").out)
    assert [row["model"] for row in listed if row["average"] is None] == ["wan2_2_i2v_plus", "wanx2_1_i2v_turbo"]


@needs_results
def test_the_table_is_printed_as_published():
    result = lookaway("wrbench", "table", CSV)
    (line,) = [line for line in result.out.splitlines() if line.startswith("wanx2_1_i2v_turbo")]
    assert line.split()[-3:] == ["0.855†**", "0.777†**", "0.644"]
    (line,) = [line for line in result.out.splitlines() if line.startswith("gen3c")]
    assert line.split()[-3:] == ["0.681**", "0.640**", "0.686"]
    listed = json.loads(lookaway("wrbench", "table", CSV, "--json").out)
    assert [row["model"] for row in listed if row["is_low_n"]] == json.loads(JSON.read_text())["aggregate_checks"][
        "low_n_models"
    ]


def one_model(tmp_path, **changes):
    values = {name: "NA" if name.startswith("D1") else "0.5" for name in COLUMNS}
    values |= {name: "0" if name.startswith("D1") else "20" for name in COLUMNS if name.endswith("_n")}
    values |= {"model_id": "alpha", "model_input": "TI2V", "viewpoint_condition_type": "prompt-only"}
    values |= {"n_outputs": "20", "gate_applicable_rate": "1.0", "low_n_flag": "false", **changes}
    path = tmp_path / "results.csv"
    path.write_text("\n".join([",".join(values), ",".join(values.values())]) + "\n")
    return path


def test_a_model_without_a_dimension_has_a_cell_without_a_number(tmp_path):
    (row,) = read_published_models(one_model(tmp_path))
    assert row.cells[PRECISION].estimate is None
    assert (row.cells["D2"].estimate.mean, row.cells["D2"].precision.mark) == (0.5, Mark.IMPRECISE)
    assert row.average is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"D2": "1.2"}, "D2 is '1.2', expected a number from 0 to 1"),
        ({"D2": "NA"}, "D2 is 'NA', expected a number, since D2_n is 20"),
        ({"D1_CamPrec": "0.5"}, "expected NA, since D1_CamPrec_n is 0"),
        ({"n_outputs": "0"}, "n_outputs is '0', expected one or more"),
        ({"D2_n": "21"}, "no more than the 20 outputs"),
        ({"D3_n": "many"}, "expected a whole number"),
        ({"D6_n": "10"}, "D6_n is '10', expected 20 as D5_n"),
        ({"gate_applicable_rate": "0.5"}, "expected D5_n / n_outputs = 1.000000"),
        ({"viewpoint_condition_type": "psychic"}, "expected one of source-video"),
        ({"low_n_flag": "perhaps"}, "expected one of true, false"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        read_published_models(one_model(tmp_path, **changes))


def test_published_results_take_no_other_interface(tmp_path):
    result = lookaway("wrbench", "table", one_model(tmp_path), "--interface", "alpha=source-video")
    assert (result.code, "--interface is for runs" in result.err) == (2, True)


def test_a_model_that_is_there_twice_is_refused(tmp_path):
    path = one_model(tmp_path)
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(UserError, match="'alpha' is there twice"):
        read_published_models(path)
