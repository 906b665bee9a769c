from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import Abstention, Reason, Score, Unit, UserError
from lookaway.engine.run import Run
from lookaway.reports.export import rows as row_files
from lookaway.reports.export.rows import write_tidy_table
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run

EPIPOLAR, CAMERA = "mbencha.environment.spatial_epipolar", "mbencha.causal.camera_interaction"
PLACE = ["rollout", "model", "case", "subset", "scene", "seed", "metric"]
COLUMNS = [*PLACE, "status", "reason", "value", "raw", "message"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    measured = {
        ("=cmd()", "s0"): Score(0.1 + 0.2, raw=-1.5, units=(Unit("-u", Score(0.25)), Unit("v", Score(1.0)))),
        ("größe", "s1"): Abstention(Reason.TOO_FEW_MATCHES, '@two, "three"\nlines'),
    }
    return hand_made_run(tmp_path / "run", "mbench-a", {EPIPOLAR: measured, CAMERA: {("größe", "s1"): Score(1.0)}})


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_parquet_holds_every_outcome_as_it_is(run, tmp_path):
    write_tidy_table(run, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == COLUMNS
    assert table.schema.field("value").type == pa.float64()
    rows = {(row["model"], row["metric"]): row for row in table.to_pylist()}
    assert len(rows) == table.num_rows == 3
    first = rows["=cmd()", EPIPOLAR]
    assert (first["value"], first["raw"], first["status"], first["reason"]) == (0.1 + 0.2, -1.5, "score", None)
    assert (first["case"], first["subset"], first["scene"]) == ("environment:s0:text", "environment", "s0")
    declined = rows["größe", EPIPOLAR]
    assert (declined["value"], declined["reason"]) == (None, "too_few_matches")
    assert declined["message"] == '@two, "three"\nlines'


def test_csv_holds_the_same_with_all_digits_and_no_formula(run, tmp_path):
    write_tidy_table(run, tmp_path / "out.CSV")
    rows = {(row["model"], row["metric"]): row for row in read_csv(tmp_path / "out.CSV")}
    assert list(rows["größe", EPIPOLAR]) == COLUMNS
    first = rows["'=cmd()", EPIPOLAR]
    assert float(first["value"]) == 0.1 + 0.2
    assert first["raw"] == "-1.5"
    assert first["rollout"] == "'=cmd()/environment:s0:text/0"
    assert rows["größe", EPIPOLAR]["message"] == '\'@two, "three"\nlines'
    assert rows["größe", EPIPOLAR]["value"] == ""


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_text_is_taken_for_a_formula(start):
    assert row_files.plain_text(f"{start}1") == f"'{start}1"
    assert row_files.plain_text(f"1{start}1") == f"1{start}1"


def test_units_are_rows_of_their_own(run, tmp_path):
    result = lookaway("export", "outcomes", run.path, "-o", tmp_path / "out.csv", "--units")
    assert (result.code, result.out) == (0, f"Wrote {tmp_path / 'out.csv'}\n")
    rows = read_csv(tmp_path / "out.csv")
    assert [(row["metric"], row["unit"], row["value"], row["scene"]) for row in rows] == [
        (EPIPOLAR, "'-u", "0.25", "s0"),
        (EPIPOLAR, "v", "1.0", "s0"),
    ]


def test_the_command_writes_outcomes_and_no_estimates(run, tmp_path):
    result = lookaway("export", "outcomes", run.path, "-o", tmp_path / "out.csv")
    assert (result.code, result.out) == (0, f"Wrote {tmp_path / 'out.csv'}\n")
    assert [row["status"] for row in read_csv(tmp_path / "out.csv")] == ["score", "score", "abstention"]
    refused = lookaway("export", "outcomes", run.path, "-o", tmp_path / "out.tex")
    assert (refused.code, (tmp_path / "out.tex").exists()) == (2, False)


def test_a_run_larger_than_one_batch_is_written_whole(run, tmp_path, monkeypatch):
    monkeypatch.setattr(row_files, "ROWS_AT_ONCE", 2)
    write_tidy_table(run, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 3


def test_a_run_without_units_gives_an_empty_table_with_its_columns(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {CAMERA: {("m", "s"): Score(1.0)}})
    write_tidy_table(run, tmp_path / "out.parquet", units=True)
    table = pq.read_table(tmp_path / "out.parquet")
    assert (table.num_rows, "unit" in table.column_names) == (0, True)


def test_another_suffix_and_a_place_that_cannot_be_written_are_refused(run, tmp_path):
    with pytest.raises(UserError, match=r"expected \.csv or \.parquet"):
        write_tidy_table(run, tmp_path / "out.xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_tidy_table(run, tmp_path / "file" / "out.csv")
