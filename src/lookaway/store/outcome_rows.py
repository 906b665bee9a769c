"""Outcomes as rows: one for the whole measurement, one for each of its units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import Abstention, Failure, Outcome, Score, Unit, canonical_json

SCHEMA = pa.schema(
    [
        ("rollout", pa.string()),
        ("content", pa.string()),
        ("metric", pa.string()),
        ("lock", pa.string()),
        ("unit", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("value", pa.float64()),
        ("raw", pa.float64()),
        ("message", pa.string()),
        ("detail", pa.string()),
    ]
)
"""`unit` is null for the whole measurement. The key of a row is (rollout, content, metric, lock, unit)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One outcome and what it is the outcome of."""

    rollout: str
    content: str
    metric: str
    lock: str
    outcome: Outcome


def rows(measured: Sequence[Measured]) -> pa.Table:
    """All rows of some outcomes."""
    return pa.Table.from_pylist([row for entry in measured for row in _rows_of(entry)], SCHEMA)


def write_rows(table: pa.Table, file: BinaryIO) -> None:
    """Write rows as Parquet."""
    pq.write_table(table, file, compression="zstd")


def _rows_of(entry: Measured) -> Iterator[dict[str, Any]]:
    key = {"rollout": entry.rollout, "content": entry.content, "metric": entry.metric, "lock": entry.lock}
    yield {**key, "unit": None, **_columns(entry.outcome)}
    units: tuple[Unit, ...] = () if isinstance(entry.outcome, Failure) else entry.outcome.units
    for unit in units:
        yield {**key, "unit": unit.name, **_columns(unit.outcome)}


def _columns(outcome: Outcome) -> Mapping[str, Any]:
    match outcome:
        case Score():
            detail = canonical_json(outcome.detail) if outcome.detail else None
            return {"status": "score", "value": outcome.value, "raw": outcome.raw, "detail": detail}
        case Abstention():
            return {"status": "abstention", "reason": outcome.reason.value, "message": outcome.message}
        case Failure():
            return {"status": "failure", "reason": outcome.error, "message": outcome.message}
