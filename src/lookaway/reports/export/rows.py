"""Outcomes and estimates as rows, in CSV, JSON Lines and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_whole
from lookaway.reports.leaderboards import Leaderboard, LeaderboardRow

ROWS_AT_ONCE = 50_000
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
Rows = Iterable[Mapping[str, Any]]


def write_row_file(path: Path, schema: pa.Schema, rows: Rows) -> None:
    """The columns of the schema, in order; the suffix of the path selects the format."""
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise UserError(f"{path}: the suffix selects the format of rows: expected {' or '.join(WRITERS)}.")
    write_file(path, lambda file: write(file, schema, rows))


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that the user named; failing to is a `UserError`."""
    try:
        write_whole(path, write)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error


def write_csv_file(path: Path, columns: Sequence[str], rows: Rows) -> None:
    """A CSV file of a few rows with these columns, empty where a row has no value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([plain_text(row.get(name)) for name in columns] for row in rows)
    write_file(path, lambda file: file.write(text.getvalue().encode()))


def plain_text(value: Any) -> Any:
    """Text that no spreadsheet reads as a formula; numbers are unchanged.

    >>> plain_text("=1+1"), plain_text("a=1"), plain_text(-1.5)
    ("'=1+1", 'a=1', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _write_csv(file: BinaryIO, schema: pa.Schema, rows: Rows) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(schema.names)
    writer.writerows([plain_text(row[name]) for name in schema.names] for row in rows)
    text.detach()  # the file is closed by whoever opened it


def _write_parquet(file: BinaryIO, schema: pa.Schema, rows: Rows) -> None:
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        left = iter(rows)
        while some := [{name: row[name] for name in schema.names} for row in islice(left, ROWS_AT_ONCE)]:
            writer.write_table(pa.Table.from_pylist(some, schema))


WRITERS: Mapping[str, Callable[[BinaryIO, pa.Schema, Rows], None]] = {".csv": _write_csv, ".parquet": _write_parquet}


PLACE = ("rollout", "model", "case", "subset", "scene", "seed", "metric")
RESULT = ("status", "reason", "value", "raw", "message")
NUMBERS = ("value", "raw")


def write_tidy_table(run: Run, path: Path, *, units: bool = False) -> None:
    """One row per rollout and metric, or per unit of them; the suffix of the path selects the format."""
    columns = (*PLACE, "unit", *RESULT) if units else (*PLACE, *RESULT)
    schema = pa.schema([(name, pa.float64() if name in NUMBERS else pa.string()) for name in columns])
    write_row_file(path, schema, _unit_rows(run) if units else run.items())


def _unit_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    about = {row["rollout"]: {"subset": row["subset"], "scene": row["scene"]} for row in run.items()}
    for metric in run.metrics:
        for row in run.units(metric.name):
            yield {**row, **about[row["rollout"]], "metric": metric.name}


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("suite", "metric", "lock", "subset", "model", "run")),
        *((name, pa.float64()) for name in ("mean", "low", "high")),
        *((name, pa.int64()) for name in ("scored", "asked", "failed", "scenes")),
        ("effective", pa.float64()),
        ("mark", pa.string()),
        *((name, pa.int64()) for name in ("rank_best", "rank_worst", "tie_group")),
        ("control", pa.string()),
        ("gate", pa.string()),
        ("untested", pa.int64()),
        *((name, pa.float64()) for name in ("coverage_mean", "coverage_low", "coverage_high")),
        ("coverage_n", pa.int64()),
        ("coverage_mark", pa.string()),
        *((name, pa.float64()) for name in ("combined_mean", "combined_low", "combined_high")),
        ("combined_n", pa.int64()),
        ("combined_mark", pa.string()),
    ]
)
"""Marks are `none`, `imprecise` and `not_estimable`."""


def estimate_rows(leaderboards: Sequence[Leaderboard]) -> Iterator[dict[str, Any]]:
    """Every row of every leaderboard, in order."""
    for leaderboard in leaderboards:
        for row in leaderboard.rows:
            yield _estimate_row(leaderboard, row)


def _estimate_row(leaderboard: Leaderboard, row: LeaderboardRow) -> dict[str, Any]:
    cell = row.cell
    return {
        "suite": leaderboard.suite,
        "metric": leaderboard.metric.name,
        "lock": leaderboard.metric.lock,
        "subset": leaderboard.subset,
        "model": row.model,
        "run": row.run,
        **_numbers("", cell.estimate),
        "scored": cell.scored,
        "asked": cell.asked,
        "failed": cell.failures,
        "scenes": cell.estimate.scenes if cell.estimate else 0,
        "effective": row.precision.effective,
        "mark": row.precision.mark.name.lower(),
        "rank_best": row.ranks.best if row.ranks else None,
        "rank_worst": row.ranks.worst if row.ranks else None,
        "tie_group": None if row.tie is None else row.tie + 1,
        "control": row.control,
        "gate": cell.gated.label if cell.gated else None,
        "untested": cell.untested,
        **_numbers("coverage_", cell.gated.coverage if cell.gated else None),
        "coverage_n": row.coverage.scored if cell.gated else None,
        "coverage_mark": row.coverage.mark.name.lower() if cell.gated else None,
        **_numbers("combined_", cell.gated.combined if cell.gated else None),
        "combined_n": row.combined.scored if cell.gated else None,
        "combined_mark": row.combined.mark.name.lower() if cell.gated else None,
    }


def _numbers(prefix: str, estimate: Estimate | None) -> dict[str, float | None]:
    return {
        f"{prefix}mean": estimate.mean if estimate else None,
        f"{prefix}low": estimate.low if estimate else None,
        f"{prefix}high": estimate.high if estimate else None,
    }
