"""Writes the estimates of a run as a file for a paper: LaTeX or Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lookaway.core import UserError
from lookaway.engine.run import Run
from lookaway.io.files import write_whole
from lookaway.reports.papers.latex_table import latex_tables
from lookaway.reports.papers.markdown_table import markdown_tables
from lookaway.reports.papers.paper_table import PaperTable, paper_tables

WRITERS: Mapping[str, Callable[[Sequence[PaperTable], str], str]] = {".tex": latex_tables, ".md": markdown_tables}


def is_paper_table(path: Path) -> bool:
    """Whether the suffix of a name is one of those that hold estimates."""
    return path.suffix.lower() in WRITERS


def write_paper_tables(run: Run, path: Path, *, units: bool = False) -> None:
    """One table for each subset; the suffix of the path says how they are written."""
    if units:
        raise UserError(f"{path}: {path.suffix} holds estimates; units are written as .csv or .parquet.")
    about = run.about
    origin = f"suite {about['suite']}, lock {about['lock_sha256'][:16]}"
    text = WRITERS[path.suffix.lower()](paper_tables(run), origin)
    try:
        write_whole(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error}.") from error
