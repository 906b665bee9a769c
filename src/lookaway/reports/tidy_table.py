"""Every outcome of a run as one row of a table, for other programs: CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.engine.run import Run
from lookaway.reports.row_files import write_row_file

PLACE = ("rollout", "model", "case", "subset", "scene", "seed", "metric")
RESULT = ("status", "reason", "value", "raw", "message")
NUMBERS = ("value", "raw")


def write_tidy_table(run: Run, path: Path, *, units: bool = False) -> None:
    """One row per rollout and metric, or per unit of them; the suffix of the path says how they are written."""
    columns = (*PLACE, "unit", *RESULT) if units else (*PLACE, *RESULT)
    schema = pa.schema([(name, pa.float64() if name in NUMBERS else pa.string()) for name in columns])
    write_row_file(path, schema, _unit_rows(run) if units else run.items())


def _unit_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    places = {row["rollout"]: {"subset": row["subset"], "scene": row["scene"]} for row in run.items()}
    for metric in run.metrics:
        for row in run.units(metric.name):
            yield {**row, **places[row["rollout"]], "metric": metric.name}
