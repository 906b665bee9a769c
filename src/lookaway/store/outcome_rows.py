"""Outcomes as rows: one per measurement, and one per unit of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lookaway.core import Abstention, DamagedFile, Failure, Outcome, Score, Unit, canonical_json
from lookaway.io.checksums import REMEDY, check_named
from lookaway.io.parquet import read_parquet

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
KEY: Final = ("rollout", "content", "metric", "lock")
"""Key of one measurement, with all its units."""
STATUSES: Final = ("score", "abstention", "failure")
"""Best first: of two measurements with one key, the best one counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One outcome and its key."""

    rollout: str
    content: str
    metric: str
    lock: str
    outcome: Outcome


def rows(measured: Sequence[Measured]) -> pa.Table:
    """All rows of some outcomes."""
    return pa.Table.from_pylist([row for entry in measured for row in _rows_of(entry)], SCHEMA)


def each_measurement_once(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of several files, without measurements that a better or later file repeats."""
    rows = pa.concat_tables(tables)
    file = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    is_item = pc.is_null(rows["unit"])
    items, item_file = rows.filter(is_item), file[is_item.to_numpy()]
    status = pc.fill_null(pc.index_in(items["status"], pa.array(STATUSES)), len(STATUSES)).to_numpy()
    # The smallest is the best: by status, then the later of two files.
    rank = pa.array(status * len(tables) + (len(tables) - 1 - item_file), pa.int64())
    best = items.append_column("rank", rank).group_by(KEY, use_threads=False).aggregate([("rank", "min")])
    if len(best) == len(items):
        return rows
    winner = len(tables) - 1 - best["rank_min"].to_numpy() % len(tables)
    wanted = best.select(KEY).append_column("file", pa.array(winner))
    kept = rows.select(KEY).append_column("file", pa.array(file)).append_column("row", pa.array(np.arange(len(rows))))
    kept = kept.join(wanted, keys=[*KEY, "file"], join_type="left semi", use_threads=False)
    return rows.take(kept["row"].sort())


def read_rows(path: Path, content: bytes) -> pa.Table:
    """The rows of a file with this content; raises `DamagedFile` if it is not as it was written."""
    check_named(path, content)
    try:
        return read_parquet(content).select(SCHEMA.names)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise DamagedFile(f"{path}: cannot be read ({error}). {REMEDY}") from error


def write_rows(table: pa.Table, file: BinaryIO) -> None:
    """Write rows as Parquet."""
    pq.write_table(table, file, compression="zstd")


def _rows_of(entry: Measured) -> Iterator[dict[str, Any]]:
    key = {name: getattr(entry, name) for name in KEY}
    yield {**key, "unit": None, **_columns(entry.outcome)}
    units: tuple[Unit, ...] = () if isinstance(entry.outcome, Failure) else entry.outcome.units
    for unit in units:
        yield {**key, "unit": unit.name, **_columns(unit.outcome)}


def _columns(outcome: Outcome) -> Mapping[str, Any]:
    match outcome:
        case Score():
            return {"status": "score", "value": outcome.value, "raw": outcome.raw, "detail": _detail(outcome)}
        case Abstention():
            reason, message = outcome.reason.value, _text(outcome.message)
            return {"status": "abstention", "reason": reason, "message": message, "detail": _detail(outcome)}
        case Failure():
            return {"status": "failure", "reason": outcome.error, "message": _text(outcome.message)}
    raise TypeError(f"A metric returns a Score, an Abstention or a Failure, found {outcome!r:.80}.")


def _detail(outcome: Score | Abstention) -> str | None:
    return canonical_json(dict(outcome.detail)) if outcome.detail else None


def _text(message: str) -> str:
    """Messages may quote file names that are not valid Unicode."""
    return message.encode("utf-8", "backslashreplace").decode()
