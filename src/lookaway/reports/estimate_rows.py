"""Every estimate of boards as one row, unrounded, with interval, n, mark and rank range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lookaway.core import Estimate
from lookaway.reports.site.boards import Board, Row
from lookaway.statistics.precision import Precision

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("suite", "metric", "lock", "subset", "model", "run")),
        *((name, pa.float64()) for name in ("mean", "low", "high")),
        *((name, pa.int64()) for name in ("scored", "asked", "failed", "scenes")),
        ("effective", pa.float64()),
        ("mark", pa.string()),
        *((name, pa.int64()) for name in ("rank_best", "rank_worst", "tie_group")),
        ("baseline", pa.string()),
        *((name, pa.float64()) for name in ("coverage_mean", "coverage_low", "coverage_high")),
        ("coverage_n", pa.int64()),
        *((name, pa.float64()) for name in ("combined_mean", "combined_low", "combined_high")),
        ("combined_n", pa.int64()),
    ]
)
"""A number that is not estimable has an interval and no mean, as in every other table."""


def estimate_rows(boards: Sequence[Board]) -> Iterator[dict[str, Any]]:
    """Every row of every board, in their order."""
    for board in boards:
        for row in board.rows:
            yield _estimate_row(board, row)


def _estimate_row(board: Board, row: Row) -> dict[str, Any]:
    cell = row.cell
    return {
        "suite": board.suite,
        "metric": board.metric.name,
        "lock": board.metric.lock,
        "subset": board.subset,
        "model": row.model,
        "run": row.run,
        **_numbers("", cell.estimate, row.precision),
        "scored": cell.scored,
        "asked": cell.asked,
        "failed": cell.failures,
        "scenes": cell.estimate.scenes if cell.estimate else 0,
        "effective": row.precision.effective,
        "mark": row.precision.mark.name.lower(),
        "rank_best": row.ranks.best if row.ranks else None,
        "rank_worst": row.ranks.worst if row.ranks else None,
        "tie_group": None if row.tie is None else row.tie + 1,
        "baseline": row.baseline,
        **_numbers("coverage_", cell.gated.coverage if cell.gated else None, row.coverage),
        "coverage_n": row.coverage.scored if cell.gated else None,
        **_numbers("combined_", cell.gated.combined if cell.gated else None, row.combined),
        "combined_n": row.combined.scored if cell.gated else None,
    }


def _numbers(prefix: str, estimate: Estimate | None, precision: Precision) -> dict[str, float | None]:
    return {
        f"{prefix}mean": estimate.mean if estimate and precision.is_estimable else None,
        f"{prefix}low": estimate.low if estimate else None,
        f"{prefix}high": estimate.high if estimate else None,
    }
