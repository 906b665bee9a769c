"""Writes the estimates of a run as a file: LaTeX or Markdown for a paper, CSV or Parquet for other programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lookaway.core import UserError
from lookaway.engine.run import Run
from lookaway.reports.estimate_rows import SCHEMA, estimate_rows
from lookaway.reports.papers.latex_table import latex_tables
from lookaway.reports.papers.markdown_table import markdown_tables
from lookaway.reports.papers.paper_table import PaperTable, paper_tables
from lookaway.reports.row_files import WRITERS as ROW_WRITERS
from lookaway.reports.row_files import write_file, write_row_file
from lookaway.reports.site.boards import boards
from lookaway.reports.site.gather import gathered

WRITERS: Mapping[str, Callable[[Sequence[PaperTable], str], str]] = {".tex": latex_tables, ".md": markdown_tables}


def write_estimates(run: Run, path: Path) -> None:
    """One table for each subset, or for other programs one row for each cell; the suffix of the path says how."""
    suffix = path.suffix.lower()
    if suffix not in (*WRITERS, *ROW_WRITERS):
        known = ", ".join((*WRITERS, *ROW_WRITERS))
        raise UserError(f"{path}: estimates are written as {known}, by the suffix of the name.")
    found = gathered(run, run.path.name)
    if suffix in ROW_WRITERS:
        write_row_file(path, SCHEMA, estimate_rows(boards([found])))
        return
    origin = f"suite {found.about['suite']}, lock {found.about['lock_sha256'][:16]}"
    text = WRITERS[suffix](paper_tables(found), origin)
    write_file(path, lambda file: file.write(text.encode()))
