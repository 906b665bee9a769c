"""Reads published tables: CSV, JSON, Parquet, or all tables of a Markdown page."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.core import UserError
from lookaway.io.parquet import read_parquet
from lookaway.reports.published_table import LARGEST_BYTES

NUMBER = r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
BOLD = re.compile(
    r"\*\*(.+?)\*\*|(?<!\w)__(.+?)__(?!\w)|<(?:b|strong)>(.+?)</(?:b|strong)>|\\textbf\{(.+?)\}", re.DOTALL
)
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
COUNT = re.compile(r"\(?\bn\s*[=:]?\s*(\d+)(?: of \d+)?\b\)?", re.IGNORECASE)
INTERVAL = re.compile(rf"[\[(]\s*({NUMBER})\s*(?:,|;|\u2013|to|\.\.)\s*({NUMBER})\s*[\])]")
SPREAD = re.compile(rf"(?:±|\+/-|\\pm)\s*{NUMBER}")
DAGGER = re.compile(r"[†‡]|\\d?dagger")
MARKS = re.compile(r"[†‡*§]|\\d?dagger|\$|\^|[{}]")
VALUE = re.compile(rf"({NUMBER})\s*(%?)")
NOTHING = frozenset({"", "-", "\u2013", "\u2014", "na", "n/a", "nan", "none", "null"})
LONGEST_NUMBER = 300
"""Longer text is no number with something beside it, and is not searched for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedCell:
    """One cell as printed, and the number in it."""

    text: str
    value: float | None = None
    """`None` where the cell is no number."""
    is_bold: bool = False
    is_daggered: bool = False
    """Whether its authors marked it as weak."""
    has_percent: bool = False
    has_interval: bool = False
    n: int | None = None
    digits: int = 0
    """Digits after the point."""

    @property
    def is_empty(self) -> bool:
        """Whether it marks a missing value."""
        return self.text.casefold() in NOTHING


def printed_cell(text: str) -> PrintedCell:
    """What is printed in a cell.

    >>> cell = printed_cell("**0.71** [0.62, 0.80] n=12 †")
    >>> cell.value, cell.is_bold, cell.is_daggered, cell.has_interval, cell.n
    (0.71, True, True, True, 12)
    """
    if len(text) > LONGEST_NUMBER:
        return PrintedCell(text=text)
    plain = BOLD.sub(lambda found: next(group for group in found.groups() if group is not None), text)
    shown = html.unescape(TAG.sub(" ", plain)).replace("\u2212", "-").strip()
    rest, intervals = INTERVAL.subn(" ", shown)
    rest, spreads = SPREAD.subn(" ", rest)
    count = COUNT.search(rest)
    rest = MARKS.sub(" ", COUNT.sub(" ", rest) if count else rest).strip()
    found = VALUE.fullmatch(rest)
    number = found[1].replace(",", "") if found else ""
    value = float(number) if found else math.nan
    return PrintedCell(
        text=shown,
        value=value if math.isfinite(value) else None,
        is_bold=plain != text,
        is_daggered=bool(found and DAGGER.search(shown)),
        has_percent=bool(found and found[2]),
        has_interval=bool(intervals or spreads),
        n=int(count[1]) if count else None,
        digits=len(number.partition(".")[2]) if "e" not in number.lower() else 12,
    )


SEPARATOR = re.compile(r":?-+:?")
UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """A table as it is printed; every row has as many cells as there are columns."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PrintedCell, ...], ...]
    lines: tuple[int, ...]
    """The line of each row in a text file, else its number from 1."""


def read_printed(path: Path) -> list[PrintedTable]:
    """All tables of a file; the suffix of its name says how it is read."""
    readers: Mapping[str, Callable[[Path], Iterable[PrintedTable]]] = {
        ".csv": _csv_tables,
        ".json": _json_tables,
        ".parquet": _parquet_tables,
        ".md": _markdown_tables,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        instead = " Give the same table as .md or .csv: `lookaway export table` writes both." if _is_latex(path) else ""
        raise UserError(f"{path}: a table is read from {', '.join(readers)}, by the suffix of its name.{instead}")
    if not path.is_file():
        raise UserError(f"{path}: there is no such file.")
    if path.stat().st_size > LARGEST_BYTES:
        raise UserError(f"{path}: larger than {LARGEST_BYTES:,} bytes: not a table of results.")
    tables = [table for table in read(path) if table.rows]
    if not tables:
        raise UserError(f"{path}: no table with a row below its header found.")
    return tables


def _is_latex(path: Path) -> bool:
    return path.suffix.lower() == ".tex"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text: {error}.") from error


def _table(name: str, header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]) -> PrintedTable:
    kept = [(line, [*values, *[""] * (len(header) - len(values))][: len(header)]) for line, values in rows]
    return PrintedTable(
        name=name,
        columns=tuple(printed_cell(column).text for column in header),
        rows=tuple(tuple(printed_cell(value.strip()) for value in values) for _, values in kept),
        lines=tuple(line for line, _ in kept),
    )


def _csv_tables(path: Path) -> Iterator[PrintedTable]:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        rows = [(reader.line_num, values) for values in reader if any(value.strip() for value in values)]
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not readable as CSV: {error}.") from error
    if wrong := next((line for line, values in rows if len(values) != len(header)), None):
        raise UserError(f"{path}, line {wrong}: not as many values as in the header, which has {len(header)}.")
    yield _table("", header, rows)


def _markdown_tables(path: Path) -> Iterator[PrintedTable]:
    lines = _text(path).splitlines()
    starts = [number for number in range(1, len(lines)) if "|" in lines[number - 1] and _is_separator(lines[number])]
    for count, start in enumerate(starts, start=1):
        rows = []
        for number in range(start + 1, len(lines)):
            if "|" not in lines[number]:
                break
            rows.append((number + 1, _markdown_cells(lines[number])))
        yield _table(f"table {count}" if len(starts) > 1 else "", _markdown_cells(lines[start - 1]), rows)


def _is_separator(line: str) -> bool:
    return "|" in line and all(SEPARATOR.fullmatch(cell) for cell in _markdown_cells(line))


def _markdown_cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
    return [cell.replace("\\|", "|").strip() for cell in UNESCAPED_PIPE.split(line)]


def _json_tables(path: Path) -> Iterator[PrintedTable]:
    try:
        content = json.loads(_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON: {error}.") from error
    if _is_records(content):
        yield _record_table("", content)
    elif isinstance(content, dict):
        for name, entry in content.items():
            if _is_records(entry):
                yield _record_table(name, entry)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)


def _parquet_tables(path: Path) -> Iterator[PrintedTable]:
    try:
        records = read_parquet(path.read_bytes()).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{path}: not readable as Parquet: {error}.") from error
    yield _record_table("", records)


def _record_table(name: str, records: Sequence[Mapping[str, Any]]) -> PrintedTable:
    columns = list(dict.fromkeys(str(key) for record in records for key in record))
    rows = [[_shown(record.get(column)) for column in columns] for record in records]
    return _table(name, columns, enumerate(rows, start=1))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
