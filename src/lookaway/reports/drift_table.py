"""Drift curves as a file: CSV or Parquet with one row for each bin, or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.reports.drift import Drift
from lookaway.reports.drift_text import drifts_markdown
from lookaway.reports.row_files import write_file, write_row_file
from lookaway.statistics.drift import DriftBin

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "metric", "subset")),
        *((name, pa.int64()) for name in ("first_frame", "last_frame")),
        *(
            (name, pa.float64())
            for name in ("mean_frame", "mean", "low", "high", "change", "change_low", "change_high")
        ),
        *((name, pa.int64()) for name in ("rollouts", "of_rollouts", "scenes")),
        *((name, pa.float64()) for name in ("half_life", "half_life_low", "half_life_high", "within", "towards")),
    ]
)
"""The half-life of a curve stands in each of its rows; empty beside a `within`, it is more than that."""


def write_drifts(run: Run, found: Sequence[Drift], path: Path) -> None:
    """Write all curves; the suffix of the path says how."""
    match path.suffix.lower():
        case ".csv" | ".parquet":
            write_row_file(path, SCHEMA, [_row(drift, entry) for drift in found for entry in drift.bins])
        case ".md":
            write_file(path, lambda file: file.write(drifts_markdown(run, found).encode()))
        case _:
            raise UserError(f"{path}: curves are written as .csv, .parquet or .md, by the suffix of the name.")


def _row(drift: Drift, entry: DriftBin) -> dict[str, Any]:
    life = drift.half_life
    low, high = (life.interval if life else None) or (None, None)
    return {
        "model": drift.model,
        "metric": drift.metric,
        "subset": drift.subset,
        "first_frame": entry.first,
        "last_frame": entry.last,
        "mean_frame": entry.frame,
        **_columns(entry.estimate, "mean", ""),
        **_columns(entry.change, "change", "change_"),
        "rollouts": entry.estimate.scored,
        "of_rollouts": drift.rollouts,
        "scenes": entry.estimate.scenes,
        "half_life": life.frames if life else None,
        "half_life_low": low,
        "half_life_high": high,
        "within": life.within if life else None,
        "towards": life.towards if life else None,
    }


def _columns(estimate: Estimate | None, name: str, prefix: str) -> dict[str, float | None]:
    if estimate is None:
        return {name: None, f"{prefix}low": None, f"{prefix}high": None}
    return {name: estimate.mean, f"{prefix}low": estimate.low, f"{prefix}high": estimate.high}
