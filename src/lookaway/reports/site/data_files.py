"""The numbers of a site for programs: every cell, every pair, every outcome, unrounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lookaway.core import Estimate
from lookaway.io.files import write_json, write_text
from lookaway.reports.site.boards import Board, Row
from lookaway.reports.site.gather import SiteRun
from lookaway.reports.site.pairwise import Matrix
from lookaway.reports.site.rendering import slug
from lookaway.reports.tidy_table import plain_text, write_tidy_table


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A file, from the index."""

    href: str
    holds: str


def write_data(
    output: Path, runs: Sequence[SiteRun], boards: Sequence[Board], matrices: Sequence[Matrix]
) -> list[DataFile]:
    """Write all files under `data/` and say what they hold."""
    _write_csv(output / "data" / "table.csv", [_cell(board, row) for board in boards for row in board.rows])
    _write_csv(output / "data" / "pairs.csv", [pair for matrix in matrices for pair in _pairs(matrix)])
    found = [
        DataFile(href="data/table.csv", holds="every cell with interval, rank range, support and mark"),
        DataFile(href="data/pairs.csv", holds="every paired difference with interval, p and q"),
    ]
    for run in runs:
        name = slug(run.name)
        write_tidy_table(run.run, output / "data" / f"outcomes-{name}.parquet")
        write_json(output / "data" / f"lock-{name}.json", {**run.lock.entries, "sha256": run.lock.sha256})
        found.append(DataFile(href=f"data/outcomes-{name}.parquet", holds=f"every outcome of {run.name}"))
        found.append(DataFile(href=f"data/lock-{name}.json", holds=f"the lock of {run.name}"))
    return found


def _cell(board: Board, row: Row) -> dict[str, Any]:
    gated = row.cell.gated
    return {
        "suite": board.suite,
        "metric": board.metric.name,
        "lock": board.metric.lock,
        "subset": board.subset,
        "model": row.model,
        "run": row.run,
        **_columns("", row.cell.estimate),
        "scored": row.cell.scored,
        "asked": row.cell.asked,
        "failures": row.cell.failures,
        "scenes": row.cell.estimate.scenes if row.cell.estimate else 0,
        "effective": row.precision.effective,
        "mark": row.precision.mark.name.lower(),
        "rank_best": row.ranks.best if row.ranks else None,
        "rank_worst": row.ranks.worst if row.ranks else None,
        "tie_group": None if row.tie is None else row.tie + 1,
        **_columns("coverage_", gated.coverage if gated else None),
        **_columns("combined_", gated.combined if gated else None),
    }


def _pairs(matrix: Matrix) -> Iterator[dict[str, Any]]:
    board = matrix.board
    for (one, other), pair in matrix.pairs.items():
        if pair is None:
            continue
        yield {
            "suite": board.suite,
            "metric": board.metric.name,
            "lock": board.metric.lock,
            "subset": board.subset,
            "first": matrix.models[one],
            "second": matrix.models[other],
            **_columns("difference_", pair.found.difference),
            "cases": pair.found.difference.scored,
            "scenes": pair.found.difference.scenes,
            "p": pair.found.sign_flip.p,
            "q": pair.q,
            "family": matrix.family,
            "is_apart": pair.is_apart,
        }


def _columns(prefix: str, estimate: Estimate | None) -> dict[str, float | None]:
    return {
        f"{prefix}mean": estimate.mean if estimate else None,
        f"{prefix}low": estimate.low if estimate else None,
        f"{prefix}high": estimate.high if estimate else None,
    }


def _write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
        writer.writerows([plain_text(value) for value in row.values()] for row in rows)
    write_text(path, text.getvalue())
