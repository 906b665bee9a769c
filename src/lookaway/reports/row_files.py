"""Writes rows as a file for other programs: CSV or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import UserError
from lookaway.io.files import write_whole

ROWS_AT_ONCE = 50_000
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
Rows = Iterable[Mapping[str, Any]]


def write_row_file(path: Path, schema: pa.Schema, rows: Rows) -> None:
    """The columns of the schema, in their order; the suffix of the path says how they are written."""
    write = WRITERS.get(path.suffix.lower())
    if write is None:
        raise UserError(f"{path}: rows are written as {' or '.join(WRITERS)}, by the suffix of the name.")
    write_file(path, lambda file: write(file, schema, rows))


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that the user named; where that cannot be, it is the user's to know."""
    try:
        write_whole(path, write)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error


def plain_text(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula; numbers are as they are.

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
