"""Reads a published table from a CSV file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from lookaway.core import UserError

Scale: TypeAlias = Literal["auto", "1", "100"]
SCORES = ("score", "m_score", "s_rel", "c_trig")
FIGURES = (*SCORES, "raw")
COLUMNS = ("model", "metric", "subset", *FIGURES, "n")
LARGEST_BYTES = 16_000_000
"""A larger file is not a table of means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCell:
    """A row of the file; scores are between 0 and 1, as ours are."""

    model: str
    metric: str
    subset: str | None
    figures: Mapping[str, float]
    """Those of score, m_score, s_rel, c_trig and raw that the row has."""
    n: int | None
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTable:
    """All rows of the file, and the names of columns that are ignored."""

    cells: tuple[PublishedCell, ...]
    ignored_columns: tuple[str, ...]


def read_published(path: Path, scale: Scale = "auto") -> PublishedTable:
    """Read the file. Scores are percentages where `scale` is 100, or where any is above 1."""
    header, rows = _rows(path)
    cells = [_cell(path, line, row) for line, row in rows]
    if not cells:
        raise UserError(f"{path}: there is no row below the header.")
    _refuse_duplicates(path, cells)
    if scale == "100" or (scale == "auto" and _is_in_percent(cells)):
        cells = [replace(cell, figures={**cell.figures, **_from_percent(cell.figures)}) for cell in cells]
    ignored = tuple(name for name in header if name not in COLUMNS)
    return PublishedTable(cells=tuple(cells), ignored_columns=ignored)


def _rows(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        _check_header(path, header)
        rows = []
        for values in reader:
            if not any(value.strip() for value in values):
                continue
            if len(values) != len(header):
                raise UserError(
                    f"{path}, line {reader.line_num}: {len(values)} values, expected {len(header)} as in the header."
                )
            rows.append((reader.line_num, dict(zip(header, (value.strip() for value in values), strict=True))))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not readable as CSV: {error}.") from error
    return header, rows


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise UserError(f"{path}: there is no such file.")
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path}: larger than {LARGEST_BYTES:,} bytes: not a table of means.")
        return path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text: {error}.") from error


def _check_header(path: Path, header: Sequence[str]) -> None:
    missing = [name for name in ("model", "metric") if name not in header]
    if missing or not set(SCORES).intersection(header):
        raise UserError(
            f"{path}: the first line names the columns model, metric, and any of {', '.join(SCORES)}; "
            f"found {', '.join(header)!r:.200}."
        )
    if twice := sorted({name for name in header if name in COLUMNS and header.count(name) > 1}):
        raise UserError(f"{path}: the column {twice[0]!r} is there more than once.")


def _cell(path: Path, line: int, row: dict[str, str]) -> PublishedCell:
    for name in ("model", "metric"):
        if not row[name]:
            raise UserError(f"{path}, line {line}: the {name} is empty.")
    figures = {name: _number(path, line, name, row[name]) for name in FIGURES if row.get(name)}
    if not figures:
        raise UserError(f"{path}, line {line}: there is no number.")
    return PublishedCell(
        model=row["model"],
        metric=row["metric"],
        subset=row.get("subset") or None,
        figures=figures,
        n=_count(path, line, row["n"]) if row.get("n") else None,
        line=line,
    )


def _number(path: Path, line: int, name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{path}, line {line}: {name} is {text!r:.80}, expected a finite number such as 0.713.")
    return number


def _count(path: Path, line: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise UserError(f"{path}, line {line}: n is {text!r:.80}, expected the number of rollouts.")
    return int(text)


def _refuse_duplicates(path: Path, cells: Iterable[PublishedCell]) -> None:
    seen: dict[tuple[str, str, str | None], int] = {}
    for cell in cells:
        key = (cell.model, cell.metric, cell.subset)
        if key in seen:
            raise UserError(f"{path}, line {cell.line}: {cell.model}, {cell.metric} is in line {seen[key]} already.")
        seen[key] = cell.line


def _is_in_percent(cells: Iterable[PublishedCell]) -> bool:
    return any(cell.figures.get(name, 0.0) > 1 for cell in cells for name in SCORES)


def _from_percent(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: figures[name] / 100 for name in SCORES if name in figures}
