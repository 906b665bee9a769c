"""Every outcome of a run as one row of a table, for other programs: CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_whole

PLACE = ("rollout", "model", "case", "subset", "scene", "seed", "metric")
RESULT = ("status", "reason", "value", "raw", "message")
NUMBERS = ("value", "raw")
ROWS_AT_ONCE = 50_000
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_tidy_table(run: Run, path: Path, *, units: bool = False) -> None:
    """One row per rollout and metric, or per unit of them; the suffix of the path says how they are written."""
    columns = (*PLACE, "unit", *RESULT) if units else (*PLACE, *RESULT)
    write = {".csv": _write_csv, ".parquet": _write_parquet}.get(path.suffix.lower())
    if write is None:
        raise UserError(
            f"{path}: a table is written as .csv or .parquet, or as .tex or .md, by the suffix of its name."
        )
    rows = _unit_rows(run) if units else run.items()
    try:
        write_whole(path, lambda file: write(file, columns, rows))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error


def plain_text(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula; numbers are as they are.

    >>> plain_text("=1+1"), plain_text("a=1"), plain_text(-1.5)
    ("'=1+1", 'a=1', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def _unit_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    places = {row["rollout"]: {"subset": row["subset"], "scene": row["scene"]} for row in run.items()}
    for metric in run.metrics:
        for row in run.units(metric.name):
            yield {**row, **places[row["rollout"]], "metric": metric.name}


def _write_csv(file: BinaryIO, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([plain_text(row[name]) for name in columns] for row in rows)
    text.detach()  # the file is closed by whoever opened it


def _write_parquet(file: BinaryIO, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> None:
    schema = pa.schema([(name, pa.float64() if name in NUMBERS else pa.string()) for name in columns])
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        left = iter(rows)
        while some := [{name: row[name] for name in columns} for row in islice(left, ROWS_AT_ONCE)]:
            writer.write_table(pa.Table.from_pylist(some, schema))
