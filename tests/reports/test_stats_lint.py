from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import UserError
from lookaway.reports.lint.column_roles import Role, columns_of, counts_of
from lookaway.reports.lint.printed_table import printed_cell, read_printed
from lookaway.reports.lint.table_lint import Rule, Severity, average_parts, lint_table
from lookaway.statistics.rank_correlation import spearman_interval
from tests.support.beside import DATA, needs_results

WRBENCH = DATA / "wrbench" / "results" / "wrbench_23model_results.csv"
CLEAN = "model,quality,quality_n,quality_low,quality_high\na,0.71,40,0.65,0.77\nb,0.62,38,0.55,0.69\n"


def table(tmp_path: Path, text: str, name: str = "table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_printed(path)


def found(tmp_path: Path, text: str, name: str = "table.csv"):
    return [finding for entry in table(tmp_path, text, name) for finding in lint_table(entry)]


def of(findings, rule: Rule):
    return [finding for finding in findings if finding.rule is rule]


def test_a_table_with_n_and_intervals_has_no_mistake(tmp_path):
    assert found(tmp_path, CLEAN) == []


def test_a_best_cell_on_three_clips_is_an_error_and_on_ten_is_none(tmp_path):
    text = "model,memory,memory_n\na,0.9,{n}\nb,0.8,400\n"
    (finding,) = of(found(tmp_path, text.format(n=3)), Rule.BEST_ON_FEW)
    assert (finding.severity, finding.line, finding.row, finding.column) == (Severity.ERROR, 2, "a", "memory")
    assert finding.found == "0.9 is the best of its column and rests on n = 3"
    assert of(found(tmp_path, text.format(n=9)), Rule.BEST_ON_FEW)
    assert not of(found(tmp_path, text.format(n=10)), Rule.BEST_ON_FEW)


def test_a_cell_on_three_clips_that_is_not_the_best_is_no_best_mark(tmp_path):
    assert not of(found(tmp_path, "model,memory,memory_n\na,0.7,3\nb,0.8,400\n"), Rule.BEST_ON_FEW)


def test_where_lower_is_better_the_lowest_is_the_best(tmp_path):
    text = "model,LPIPS,n\na,0.9,3\nb,0.1,400\n"
    assert not of(found(tmp_path, text), Rule.BEST_ON_FEW)
    assert of(found(tmp_path, text.replace("0.1,400", "0.1,4")), Rule.BEST_ON_FEW)
    assert of(found(tmp_path, "model,score ↓,n\na,0.9,300\nb,0.1,4\n"), Rule.BEST_ON_FEW)


def test_bold_says_what_is_best_and_a_dagger_beside_it_is_an_error_without_n(tmp_path):
    text = "| model | memory | n |\n|---|---|---|\n| a | **0.7** | 3 |\n| b | 0.9 | 5 |\n| c | 0.8† | 90 |\n"
    (finding,) = of(found(tmp_path, text, "table.md"), Rule.BEST_ON_FEW)
    assert (finding.row, finding.line, finding.found) == ("a", 3, "0.7 is marked as the best and rests on n = 3")
    daggered = "| model | memory |\n|---|---|\n| a | **0.7**† |\n| b | 0.6 |\n"
    (finding,) = of(found(tmp_path, daggered, "table.md"), Rule.BEST_ON_FEW)
    assert "is also marked as weak" in finding.found
    assert not of(found(tmp_path, daggered.replace("**0.7**†", "**0.7**† n=40"), "table.md"), Rule.BEST_ON_FEW)


def test_in_a_long_table_the_best_is_that_of_each_metric(tmp_path):
    text = "model,metric,score,n\na,x,0.5,3\nb,x,0.4,90\na,y,0.9,90\nb,y,0.8,90\n"
    (finding,) = of(found(tmp_path, text), Rule.BEST_ON_FEW)
    assert finding.line == 2
    assert not of(found(tmp_path, text), Rule.DUPLICATE_MODEL)


def test_an_average_over_sparse_cells_is_an_error_below_10_and_a_warning_below_30(tmp_path):
    text = "model,x,x_n,y,y_n,Avg\na,0.4,300,0.8,{n},0.6\nb,0.5,300,0.6,200,0.55\nc,0.1,300,0.2,200,0.15\n"
    for n, severity in ((3, Severity.ERROR), (9, Severity.ERROR), (10, Severity.WARNING), (29, Severity.WARNING)):
        (finding,) = of(found(tmp_path, text.format(n=n)), Rule.SPARSE_AVERAGE)
        assert (finding.severity, finding.row, finding.column) == (severity, "a", "Avg")
        assert finding.found == f"0.6 is the mean of 2 columns, of which y on {n}"
    assert of(found(tmp_path, text.format(n=30)), Rule.SPARSE_AVERAGE) == []


def test_the_parts_of_an_average_are_told_from_the_numbers(tmp_path):
    text = "model,x,y,z,Avg\na,0.4,0.8,0.1,0.6\nb,0.5,0.6,0.9,0.55\nc,0.2,0.4,0.7,0.30\n"
    columns = columns_of(table(tmp_path, text)[0])
    measures = [column for column in columns if column.role is Role.MEASURE]
    parts = average_parts(columns[-1], measures)
    assert [column.name for column in parts] == ["x", "y"]
    other = columns_of(table(tmp_path, text.replace("0.30", "0.99"))[0])
    assert average_parts(other[-1], [column for column in other if column.role is Role.MEASURE]) is None


def many_columns(last: str, average: str) -> str:
    names = [f"d{number}" for number in range(13)]
    header = ",".join(f"{name},{name}_n" for name in names)
    rows = (f"{model}," + ",".join(f"{value},90" for _ in names[1:]) for model, value in (("a", "0.5"), ("b", "0.7")))
    (first, second) = rows
    return f"model,{header},Avg\n{first},{last},3,{average}\n{second},0.7,90,0.7\n"


def test_an_average_of_thirteen_columns_is_known_where_it_is_that_of_all_and_else_accused_of_nothing(tmp_path):
    (finding,) = of(found(tmp_path, many_columns("0.5", "0.5")), Rule.SPARSE_AVERAGE)
    assert finding.found == "0.5 is the mean of 13 columns, of which d12 on 3"
    assert not of(found(tmp_path, many_columns("0.5", "0.95")), Rule.SPARSE_AVERAGE)
    (mixed,) = of(found(tmp_path, many_columns("7.0", "1.0")), Rule.MIXED_UNITS)
    assert "above 1: d12" in mixed.found
    assert not of(found(tmp_path, many_columns("7.0", "0.55")), Rule.MIXED_UNITS)


def test_a_mean_that_is_of_no_columns_of_the_table_is_not_accused(tmp_path):
    text = "model,mean,latency_ms,fid,n\na,0.71,120,31.2,{n}\nb,0.62,340,28.7,40\n"
    for n in (3, 40):
        rules = {finding.rule for finding in found(tmp_path, text.format(n=n))}
        assert not rules & {Rule.MIXED_UNITS, Rule.SPARSE_AVERAGE}


def test_what_to_leave_out_of_an_average_is_what_was_found(tmp_path):
    text = "model,x,x_n,y,y_n,Avg\na,0.4,300,0.8,{n},0.6\nb,0.5,300,0.6,200,0.55\n"
    for n, least in ((9, 10), (10, 30), (24, 30)):
        (finding,) = of(found(tmp_path, text.format(n=n)), Rule.SPARSE_AVERAGE)
        assert finding.do.startswith(f"Leave cells on fewer than {least} out")


def test_a_mean_owns_the_interval_and_n_of_its_name(tmp_path):
    text = "model,mean,low,high,scored,coverage_mean,coverage_low,coverage_high,coverage_n\n"
    rows = "a,0.7,0.6,0.8,4,0.9,0.8,1.0,40\nb,0.8,0.5,0.7,40,0.5,0.4,0.6,40\n"
    assert found(tmp_path, text + rows) == []
    (lacking,) = found(tmp_path, (text + rows).replace("coverage_low", "x_low").replace("coverage_high", "x_high"))
    assert (lacking.rule, lacking.column) == (Rule.MISSING_INTERVAL, "coverage_mean")


def test_numbers_of_different_metrics_in_one_column_are_no_mixed_scale(tmp_path):
    text = "model,metric,score\na,{0},0.62\nb,{0},0.71\na,{1},31.5\nb,{1},28.9\n"
    assert not of(found(tmp_path, text.format("memory", "quality")), Rule.MIXED_SCALE)
    (finding,) = of(found(tmp_path, text.format("memory", "memory")), Rule.MIXED_SCALE)
    assert finding.found.startswith("0.62 is among numbers up to 31.5")


def test_latex_is_refused_with_what_to_give_instead(tmp_path):
    (tmp_path / "t.tex").write_text("x")
    with pytest.raises(UserError, match=r"Give the same table as \.md or \.csv"):
        read_printed(tmp_path / "t.tex")


def test_a_sparse_cell_that_is_no_part_of_the_average_does_not_count(tmp_path):
    text = "model,x,x_n,y,y_n,z,z_n,Avg\na,0.4,90,0.8,90,0.1,3,0.6\nb,0.5,90,0.6,90,0.9,90,0.55\n"
    assert not of(found(tmp_path, text), Rule.SPARSE_AVERAGE)


def test_decibels_shares_and_hundredths_in_one_average_are_an_error(tmp_path):
    text = "model,judge score,PSNR,SSIM,avgScore\na,70,20,0.9,30.3\nb,60,25,0.8,28.6\n"
    (finding,) = of(found(tmp_path, text), Rule.MIXED_UNITS)
    assert (finding.severity, finding.column) == (Severity.ERROR, "avgScore")
    assert "above 1: judge score; dB: PSNR; 0 to 1: SSIM" in finding.found
    assert not of(found(tmp_path, "model,x,y,Avg\na,0.4,0.8,0.6\nb,0.5,0.6,0.55\n"), Rule.MIXED_UNITS)


def test_a_distance_in_an_average_of_scores_is_an_error(tmp_path):
    text = "model,SSIM,LPIPS,Mean\na,0.9,0.3,0.6\nb,0.8,0.2,0.5\n"
    (finding,) = of(found(tmp_path, text), Rule.MIXED_UNITS)
    assert "lower is better in some" in finding.found


def test_a_correlation_on_six_points_is_an_error_that_says_what_it_could_be(tmp_path):
    (finding,) = of(found(tmp_path, "metric,Spearman,n\nmemory,0.71,6\n"), Rule.FEW_POINTS)
    assert finding.severity is Severity.ERROR
    assert finding.found == "a correlation of 0.71 on 6 points could be anything from -0.36 to 0.97"
    (long,) = of(found(tmp_path, "metric,value,n\nSpearman rho,0.71,6\nlength,0.5,6\n"), Rule.FEW_POINTS)
    assert long.line == 2


def test_a_correlation_with_an_interval_is_no_mistake_and_one_on_many_points_is_a_lack(tmp_path):
    assert not of(found(tmp_path, "metric,rho,rho low,rho high,n\nmemory,0.71,-0.36,0.97,6\n"), Rule.FEW_POINTS)
    assert not of(found(tmp_path, 'metric,rho,n\nmemory,"0.71 [-0.36, 0.97]",6\n'), Rule.FEW_POINTS)
    (many,) = of(found(tmp_path, "metric,rho,n\nmemory,0.71,100\n"), Rule.FEW_POINTS)
    assert many.severity is Severity.WARNING
    (unknown,) = of(found(tmp_path, "metric,\u03c1\nmemory,0.71\n"), Rule.FEW_POINTS)
    assert "its number of points is not given" in unknown.found


@pytest.mark.parametrize(
    ("value", "points", "low", "high"),
    [(0.94, 6, 0.36, 1.0), (0.71, 6, -0.36, 0.97), (0.80, 8, 0.1, 0.97)],
)
def test_intervals_of_correlations_are_those_of_the_formula(value, points, low, high):
    ends = spearman_interval(value, points)
    assert ends == (pytest.approx(low, abs=0.011), pytest.approx(high, abs=0.011))
    mirrored = spearman_interval(-value, points)
    assert mirrored == (pytest.approx(-ends[1]), pytest.approx(-ends[0]))


def test_there_is_no_interval_of_three_points_or_of_a_perfect_correlation():
    assert spearman_interval(0.5, 3) is None
    assert spearman_interval(1.0, 8) is None


def test_numbers_without_n_or_interval_are_named_once_by_their_columns(tmp_path):
    findings = found(tmp_path, "model,x,y\na,0.4,0.8\nb,0.5,0.6\n")
    assert [(finding.rule, finding.severity, finding.column) for finding in findings] == [
        (Rule.MISSING_N, Severity.WARNING, "x, y"),
        (Rule.MISSING_INTERVAL, Severity.WARNING, "x, y"),
    ]
    assert [finding.rule for finding in found(tmp_path, "model,x,clips\na,0.4 ± 0.1,40\nb,0.5 ± 0.1,40\n")] == []


def test_the_only_number_of_a_long_table_owns_its_interval_and_n_whatever_they_are_called(tmp_path):
    assert found(tmp_path, "model,metric,mean,low,high,n\na,x,0.7,0.6,0.8,40\nb,x,0.6,0.5,0.7,40\n") == []


def test_a_percent_sign_in_some_cells_is_an_error(tmp_path):
    (finding,) = of(found(tmp_path, "model,x\na,71%\nb,0.62\nc,55\n"), Rule.MIXED_SCALE)
    assert (finding.severity, finding.column) == (Severity.ERROR, "x")
    assert "1 of 3 numbers have a percent sign" in finding.found
    assert not of(found(tmp_path, "model,x\na,71%\nb,62%\n"), Rule.MIXED_SCALE)


def test_a_share_among_hundredths_is_told_and_small_errors_are_not(tmp_path):
    (finding,) = of(found(tmp_path, "model,x\na,71.5\nb,0.62\nc,55\n"), Rule.MIXED_SCALE)
    assert finding.severity is Severity.WARNING
    assert finding.found.startswith("0.62 is among numbers up to 71.5")
    assert of(found(tmp_path, "model,x\na,71.5\nb,0.62\nc,0.55\n"), Rule.MIXED_SCALE)
    for harmless in ("rotation error", "PSNR", "drift px"):
        assert not of(found(tmp_path, f"model,{harmless}\na,71.5\nb,0.62\nc,55\n"), Rule.MIXED_SCALE)
    (named,) = of(found(tmp_path, "model,success %\na,0.71\nb,0.62\n"), Rule.MIXED_SCALE)
    assert named.severity is Severity.ERROR


def test_a_model_that_stands_twice_is_an_error_however_it_is_spelled(tmp_path):
    (finding,) = of(found(tmp_path, "model,x\nWan 2.1,0.4\nb,0.5\nwan-2.1,0.6\n"), Rule.DUPLICATE_MODEL)
    assert (finding.severity, finding.line, finding.found) == (Severity.ERROR, 4, "is in line 2 already, as Wan 2.1")
    assert not of(found(tmp_path, "model,seed,x\na,1,0.4\na,2,0.6\n"), Rule.DUPLICATE_MODEL)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("n", Role.COUNT),
        ("N", Role.COUNT),
        ("D5_n", Role.COUNT),
        ("n_outputs", Role.COUNT),
        ("# clips", Role.COUNT),
        ("num_samples", Role.COUNT),
        ("support", Role.COUNT),
        ("Avg", Role.AVERAGE),
        ("avgScore", Role.AVERAGE),
        ("Overall", Role.AVERAGE),
        ("CI low", Role.INTERVAL),
        ("x_stderr", Role.INTERVAL),
        ("Kendall τ", Role.CORRELATION),
        ("rank", Role.OTHER),
        ("consistency", Role.MEASURE),
        ("non-rigid", Role.MEASURE),
        ("meaning", Role.MEASURE),
        ("counterfactual", Role.MEASURE),
    ],
)
def test_the_name_of_a_column_of_numbers_tells_what_it_is(name, role, tmp_path):
    columns = columns_of(table(tmp_path, f"model,{name},other\na,1,2\nb,2,3\n")[0])
    assert columns[1].role is role


def test_a_column_that_is_mostly_empty_is_still_one_of_numbers(tmp_path):
    columns = columns_of(table(tmp_path, "model,x\na,NA\nb,n/a\nc,-\nd,0.5\n")[0])
    assert columns[1].role is Role.MEASURE


def test_the_model_is_the_column_that_tells_max_rows_apart(tmp_path):
    columns = columns_of(table(tmp_path, "model_input,model_id,x\nT,a,1\nT,b,2\n")[0])
    assert [column.role for column in columns[:2]] == [Role.OTHER, Role.MODEL]


def test_a_count_belongs_to_the_column_of_its_name_else_a_general_one_to_all(tmp_path):
    columns = columns_of(table(tmp_path, "model,x,x_n,y,n_outputs\na,0.1,3,0.2,50\n")[0])
    named = {column.name: column for column in columns}
    assert counts_of(named["x"], columns) == (3,)
    assert counts_of(named["y"], columns) == (50,)
    only_other = columns_of(table(tmp_path, "model,x,x_n,y\na,0.1,3,0.2\n")[0])
    assert counts_of(only_other[3], only_other) == (None,)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.71", 0.71),
        ("-.5", -0.5),
        ("\u22120.5", -0.5),
        ("1,234.5", 1234.5),
        ("71%", 71.0),
        ("1e-3", 0.001),
        ("**0.71**", 0.71),
        ("<b>0.71</b>", 0.71),
        (r"\textbf{0.71}$^{\dagger}$", 0.71),
        ("0.71 ± 0.02", 0.71),
        ("0.71 (0.60, 0.80)", 0.71),
        ("0.71 (n=12)", 0.71),
        ("NA", None),
        ("-", None),
        ("", None),
        ("nan", None),
        ("1e999", None),
        ("v1.2", None),
        ("12 apples", None),
        ("‡ [0.1, 0.9] n=3", None),
    ],
)
def test_a_cell_is_read_as_the_number_it_prints(text, value):
    assert printed_cell(text).value == value


def test_all_formats_hold_the_same_table(tmp_path):
    rows = [{"model": "a", "x": 0.9, "x_n": 3}, {"model": "b", "x": 0.5, "x_n": 40}]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    (tmp_path / "nested.json").write_text(json.dumps({"version": 1, "rows": rows}))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("model,x,x_n\na,0.9,3\nb,0.5,40\n")
    (tmp_path / "t.md").write_text("# Title\n\nmodel | x | x_n\n--- | ---: | ---:\na | 0.9 | 3\nb | 0.5 | 40\n\nend\n")
    for name in ("t.json", "nested.json", "t.parquet", "t.csv", "t.md"):
        (read,) = read_printed(tmp_path / name)
        rules = [(finding.rule, finding.row, finding.column) for finding in lint_table(read)]
        assert rules == [(Rule.BEST_ON_FEW, "a", "x"), (Rule.MISSING_INTERVAL, "", "x")], name


def test_every_table_of_a_page_is_read_and_named(tmp_path):
    page = "| model | x |\n|---|---|\n| a | 1 |\n\ntext\n\n| model | y |\n|---|---|\n| b \\| c | 2 |\n"
    first, second = table(tmp_path, page, "page.md")
    assert (first.name, second.name) == ("table 1", "table 2")
    assert second.rows[0][0].text == "b | c"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b""),
        ("t.csv", b"model,x\n"),
        ("t.csv", b"model,x\na\n"),
        ("t.csv", b'model,x\n"a,1\n'),
        ("t.csv", b"\xff\xfe\x00"),
        ("t.json", b"{"),
        ("t.json", b"{}"),
        ("t.json", b"[1, 2]"),
        ("t.json", b"[" * 100_000),
        ("t.parquet", b"no parquet"),
        ("t.md", b"no table"),
        ("t.xlsx", b"x"),
    ],
)
def test_what_is_no_table_is_an_error_that_names_the_file(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match="t\\."):
        read_printed(tmp_path / name)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(UserError, match="no such file"):
        read_printed(tmp_path / "none.csv")


def test_long_and_hostile_cells_are_text_and_take_no_time(tmp_path):
    hostile = "<b>" * 30_000
    text = f"model,x,n\n{hostile},0.9,3\n{'*' * 90_000},0.5,40\n"
    (finding,) = of(found(tmp_path, text), Rule.BEST_ON_FEW)
    assert finding.row == hostile
    blanks = "| a | b |\n" + " " * 90_000 + "x\n" + "|-" * 40_000 + "x\n"
    with pytest.raises(UserError):
        table(tmp_path, blanks, "t.md")


def test_findings_are_in_a_fixed_order_errors_first(tmp_path):
    text = "model,x,x_n,y,y_n,Avg\na,0.9,3,0.5,20,0.7\nb,0.5,40,0.5,12,0.5\nB,0.4,90,0.6,90,0.5\n"
    findings = found(tmp_path, text)
    assert findings == found(tmp_path, text)
    severities = [finding.severity for finding in findings]
    assert severities == sorted(severities)
    assert {finding.rule for finding in findings if finding.severity is Severity.ERROR} == {
        Rule.SPARSE_AVERAGE,
        Rule.BEST_ON_FEW,
        Rule.DUPLICATE_MODEL,
    }


@needs_results
def test_the_released_table_of_wrbench_has_its_three_clip_best_cells_and_its_average_over_sparse_cells():
    (read,) = read_printed(WRBENCH)
    errors = [finding for finding in lint_table(read) if finding.severity is Severity.ERROR]
    assert [(finding.rule, finding.row, finding.column) for finding in errors] == [
        (Rule.SPARSE_AVERAGE, "wan2_2_i2v_plus", "Avg"),
        (Rule.SPARSE_AVERAGE, "wanx2_1_i2v_turbo", "Avg"),
        (Rule.BEST_ON_FEW, "wanx2_1_i2v_turbo", "D5"),
        (Rule.BEST_ON_FEW, "wanx2_1_i2v_turbo", "D6"),
    ]
    assert "is the mean of 6 columns, of which D5 on 3, D6 on 3" in errors[1].found
    assert errors[2].found == "0.854777333333 is the best of its column and rests on n = 3"
    warned = {finding.row for finding in of(lint_table(read), Rule.SPARSE_AVERAGE)} - {"wan2_2_i2v_plus"}
    assert len(warned) == 5
