"""The numbers of a site as files: every cell, every pair, every outcome, unrounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.io.files import write_json
from lookaway.reports.export.rows import SCHEMA, estimate_rows, write_row_file, write_tidy_table
from lookaway.reports.leaderboards import Leaderboard, Matrix
from lookaway.reports.runs import LoadedRun
from lookaway.reports.site.rendering import slug

PAIRS = pa.schema(
    [
        *((name, pa.string()) for name in ("suite", "metric", "lock", "subset", "first", "second")),
        *((name, pa.float64()) for name in ("difference_mean", "difference_low", "difference_high")),
        *((name, pa.int64()) for name in ("cases", "scenes")),
        *((name, pa.float64()) for name in ("p", "q")),
        ("family", pa.int64()),
        ("is_significant", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """A data file that the index links to."""

    name: str
    """Its path relative to the root of the site."""
    holds: str
    content: str | None = None
    """Its content as a data URI; `None` where it is a file beside the index."""

    @property
    def href(self) -> str:
        """Its address."""
        return self.content or self.name


def write_data(
    output: Path, runs: Sequence[LoadedRun], leaderboards: Sequence[Leaderboard], matrices: Sequence[Matrix]
) -> list[DataFile]:
    """Write all files under `data/` and describe them."""
    write_row_file(output / "data" / "table.csv", SCHEMA, estimate_rows(leaderboards))
    write_row_file(output / "data" / "pairs.csv", PAIRS, (pair for matrix in matrices for pair in _pairs(matrix)))
    found = [
        DataFile(name="data/table.csv", holds="every cell with interval, rank range, support and mark"),
        DataFile(name="data/pairs.csv", holds="every paired difference with interval, p and q"),
    ]
    for run in runs:
        name = slug(run.name)
        write_tidy_table(run.run, output / "data" / f"outcomes-{name}.parquet")
        write_json(output / "data" / f"lock-{name}.json", {**run.lock.entries, "sha256": run.lock.sha256})
        found.append(DataFile(name=f"data/outcomes-{name}.parquet", holds=f"every outcome of {run.name}"))
        found.append(DataFile(name=f"data/lock-{name}.json", holds=f"the lock of {run.name}"))
    return found


def _pairs(matrix: Matrix) -> Iterator[dict[str, Any]]:
    leaderboard = matrix.leaderboard
    for (one, other), pair in matrix.pairs.items():
        if pair is None:
            continue
        difference = pair.found.difference
        yield {
            "suite": leaderboard.suite,
            "metric": leaderboard.metric.name,
            "lock": leaderboard.metric.lock,
            "subset": leaderboard.subset,
            "first": matrix.models[one],
            "second": matrix.models[other],
            "difference_mean": difference.mean,
            "difference_low": difference.low,
            "difference_high": difference.high,
            "cases": difference.scored,
            "scenes": difference.scenes,
            "p": pair.found.sign_flip.p,
            "q": pair.q,
            "family": matrix.family,
            "is_significant": pair.is_significant,
        }
