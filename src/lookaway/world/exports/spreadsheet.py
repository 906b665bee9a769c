"""Writes a table as `.xlsx`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lookaway.core import MissingExtra
from lookaway.io.files import write_whole


def write_spreadsheet(path: Path, rows: Sequence[Sequence[str | int]]) -> None:
    """One sheet; the first row is the head."""
    try:
        from openpyxl import Workbook
    except ImportError as error:
        raise MissingExtra("The layout of MemoBench", "world") from error
    book = Workbook()
    for row in rows:
        book.active.append(list(row))
    write_whole(path, book.save)
