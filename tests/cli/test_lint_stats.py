from __future__ import annotations

from tests.cli.test_untrusted_text import HOSTILE, assert_harmless
from tests.support.command import lookaway

SPARSE = "model,x,x_n,y,y_n,Avg\na,0.4,300,0.8,3,0.6\nb,0.5,300,0.6,200,0.55\n"
CLEAN = "model,x,n,x_low,x_high\na,0.7,40,0.6,0.8\nb,0.6,40,0.5,0.7\n"


def test_a_mistake_exits_with_1_and_says_where_what_and_what_to_do(tmp_path):
    (tmp_path / "t.csv").write_text(SPARSE)
    result = lookaway("lint-stats", tmp_path / "t.csv")
    assert (result.code, result.err) == (3, "")
    lines = result.out.splitlines()
    assert lines[0] == (
        "error: average-over-sparse-cells: line 2, a, column Avg: 0.6 is the mean of 2 columns, of which y on 3"
    )
    assert lines[1].startswith("  Leave cells on fewer than 10 out")
    assert lines[-1] == "2 errors, 1 warning in 1 table"


def test_warnings_alone_and_nothing_at_all_exit_with_0(tmp_path):
    (tmp_path / "warned.csv").write_text("model,x\na,0.4\nb,0.5\n")
    warned = lookaway("lint-stats", tmp_path / "warned.csv")
    assert warned.code == 0
    assert "0 errors, 2 warnings in 1 table" in warned.out
    (tmp_path / "clean.csv").write_text(CLEAN)
    clean = lookaway("lint-stats", tmp_path / "clean.csv")
    assert (clean.code, clean.out) == (0, "0 errors, 0 warnings in 1 table\n")


def test_json_holds_every_finding_and_is_the_same_every_time(tmp_path):
    (tmp_path / "t.csv").write_text(SPARSE)
    result = lookaway("lint-stats", tmp_path / "t.csv", "--json")
    assert result.code == 3
    assert (result.json["errors"], result.json["warnings"], result.json["tables"]) == (2, 1, 1)
    first = result.json["findings"][0]
    assert (first["rule"], first["severity"], first["line"], first["row"], first["column"]) == (
        *("average-over-sparse-cells", "error", 2),
        *("a", "Avg"),
    )
    assert lookaway("lint-stats", tmp_path / "t.csv", "--json").out == result.out


def test_what_cannot_be_read_exits_with_2_and_one_line(tmp_path):
    (tmp_path / "t.json").write_text("{")
    (tmp_path / "t.xlsx").write_text("")
    for name in ("t.json", "t.xlsx", "none.csv"):
        result = lookaway("lint-stats", tmp_path / name)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), name


def test_text_of_the_table_cannot_speak_to_the_terminal(tmp_path):
    (tmp_path / "t.csv").write_text(f"model,[red]{HOSTILE},n\n{HOSTILE},0.9,3\nb,0.5,40\n", encoding="utf-8")
    for more in ([], ["--json"]):
        result = lookaway("lint-stats", tmp_path / "t.csv", *more)
        assert result.code == 3
        assert_harmless(result.out)
    assert "[red]" in lookaway("lint-stats", tmp_path / "t.csv").out
