"""Reads the rows of a run: each key once, grouped without loading units."""

from __future__ import annotations

import logging
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import duckdb
import numpy as np
import pyarrow as pa

from lookaway.core import DamagedFile, Floats, Group, Indices, ProtocolName, Reason, RunError, gate_decides
from lookaway.core.outcomes import WORTH_ANOTHER_TRY
from lookaway.io.object_storage import is_remote, object_sizes
from lookaway.store.outcome_rows import SCHEMA
from lookaway.store.run_folder import PART, RunFolder, damaged_parts

SETTINGS: dict[str, Any] = {
    "memory_limit": "1GB",
    # Object storage is read through our own connections; nothing is fetched from elsewhere to do so.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
TRIES = 5
"""How often files may vanish while they are read, because a running `eval` merges them."""
INTERRUPTED = "Query interrupted"
LOG = logging.getLogger(__name__)
T = TypeVar("T")

ITEMS = """
    CREATE OR REPLACE TABLE items AS
    SELECT rollout, content, metric, lock, r.status, r.reason, r.value, r.raw, r.message, r.detail, r.filename,
        a.model, a.case, a.subset, a.scene, a.seed, a.position
    FROM all_rows r JOIN asked a USING (rollout, content, metric, lock) WHERE r.unit IS NULL
    QUALIFY row_number() OVER (
        PARTITION BY rollout, metric
        ORDER BY CASE status WHEN 'score' THEN 0 WHEN 'abstention' THEN 1 ELSE 2 END, filename DESC
    ) = 1
"""
"""A crash may leave one key in two files; a score wins over an abstention or failure."""

NOT_FINITE = """
    SELECT filename, metric FROM items
    WHERE status = 'score' AND NOT coalesce(isfinite(value) AND isfinite(coalesce(raw, 0)), false) LIMIT 1
"""
"""Rows that are never written, but that a damaged or received file may hold."""

GROUPS = """
    WITH measured AS (
        SELECT model, metric, subset,
            list(value ORDER BY rollout) FILTER (status = 'score') AS values,
            list(rollout ORDER BY rollout) FILTER (status = 'score') AS rollouts,
            list(scene ORDER BY rollout) FILTER (status = 'score') AS scenes,
            list(raw ORDER BY rollout) FILTER (status = 'score' AND raw IS NOT NULL) AS raws,
            list(raw IS NOT NULL ORDER BY rollout) FILTER (status = 'score') AS has_raw,
            count(*) FILTER (status = 'failure') AS failures,
            count(*) AS measured
        FROM items GROUP BY model, metric, subset
    ), asked_counts AS (
        SELECT model, metric, subset, any_value(position) AS position, count(*) AS asked
        FROM asked GROUP BY model, metric, subset
    )
    SELECT model, metric, subset, values, rollouts, scenes, raws, has_raw,
        coalesce(failures, 0), coalesce(measured, 0), asked
    FROM asked_counts LEFT JOIN measured USING (model, metric, subset) ORDER BY model, position, subset
"""

REASONS = """
    SELECT model, metric, subset, reason, count(*) FROM items WHERE status = 'abstention'
    GROUP BY ALL ORDER BY count(*) DESC, reason
"""

BRANCHES = """
    SELECT model, metric, subset, json_extract_string(detail, '$.branch') AS branch, count(*)
    FROM items WHERE status = 'score' AND contains(detail, '"branch"') AND branch IS NOT NULL
    GROUP BY ALL ORDER BY count(*) DESC, branch
"""

PASSED_LIMITS = """
    SELECT rollout, metric, r.reason, max(CAST(json_extract_string(r.detail, '$.limit') AS DOUBLE))
    FROM all_rows r JOIN items i USING (rollout, content, metric, lock)
    WHERE r.unit IS NULL AND i.reason IN $1 AND r.reason IN $1 AND contains(r.detail, '"limit"')
    GROUP BY ALL
"""
"""The highest limit of all rows with one key says what was tried, whichever of them counts."""

UNITS = """
    SELECT u.rollout, u.unit, u.status, u.reason, u.value, u.raw, u.message, u.detail, i.model, i.case, i.seed
    FROM all_rows u JOIN items i USING (rollout, content, metric, lock, filename)
    WHERE u.unit IS NOT NULL AND u.metric = ? ORDER BY u.rollout, u.unit
"""

FRAME = "f[0-9]{1,9}"
"""The name of a unit that is one frame. Pairs of frames are named `f0_f16`."""

IS_FRAME = f"u.status = 'score' AND i.status = 'score' AND regexp_full_match(u.unit, '{FRAME}')"
"""One frame of a measurement that has a score."""

METRICS_WITH_UNITS = """
    SELECT metric FROM all_rows u JOIN items i USING (rollout, content, metric, lock, filename)
    WHERE u.status = 'score' AND i.status = 'score' AND regexp_full_match(u.unit, $1)
    GROUP BY metric ORDER BY any_value(i.position)
"""

SCORED = "SELECT model, subset, scene, rollout FROM items WHERE metric = ? AND status = 'score' ORDER BY rollout"

FRAMES = f"""
    WITH scored AS (
        SELECT *, row_number() OVER (ORDER BY rollout) - 1 AS number FROM items WHERE metric = $1 AND status = 'score'
    )
    SELECT i.number AS rollout, CAST(substr(u.unit, 2) AS BIGINT) AS frame, coalesce(u.value, 'nan'::DOUBLE) AS value
    FROM all_rows u JOIN scored i USING (rollout, content, metric, lock, filename) WHERE u.metric = $1 AND {IS_FRAME}
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMetric:
    """A metric of the run: the hash of its lock, and its subsets (`None` is all)."""

    name: str
    lock: str
    subsets: tuple[str, ...] | None
    is_gate: bool = False
    is_consistency: bool = False
    protocol: ProtocolName | None = None
    range: tuple[float | None, float | None] = (None, None)
    """Least and greatest possible value; `None` where there is no limit, or where an older run does not keep it."""

    @property
    def span(self) -> float | None:
        """How far apart they are; `None` where one has no limit."""
        low, high = self.range
        return None if low is None or high is None else high - low

    def depends_on(self, other: AskedMetric) -> bool:
        """Whether the other is a gate that decides which rollouts count here."""
        if not (self.is_consistency and other.is_gate and gate_decides(other.protocol, self.protocol)):
            return False
        return self.subsets is None or other.subsets is None or not set(self.subsets).isdisjoint(other.subsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameUnits:
    """The per-frame values of one metric, in any order; as columns, since there may be millions."""

    rollouts: Indices
    """Number of the rollout of each value."""
    frames: Indices
    values: Floats
    models: tuple[str, ...]
    """Model of each rollout."""
    subsets: tuple[str, ...]
    scenes: tuple[str, ...]
    ids: tuple[str, ...]
    """Id of each rollout."""


class OutcomeReader:
    """A snapshot of one run's rows."""

    def __init__(self, folder: RunFolder, metrics: Sequence[AskedMetric], rollouts: pa.Table | None = None) -> None:
        """`rollouts` are those of the run to start; by default those of its last start."""
        asked = folder.rollouts() if rollouts is None else rollouts
        self._folder = folder
        self._metrics = {metric.name: metric for metric in metrics}
        self._parts: dict[Path, int] | None = None
        self._verified: set[Path] = set()
        self._damaged: set[Path] = set()
        # A folder of its own, made only if needed: processes and users must not share one.
        spill = str(Path(tempfile.gettempdir()) / f"lookaway-{uuid4().hex}")
        self._database = duckdb.connect(config={"temp_directory": spill, **SETTINGS})
        self._database.execute("SET enable_progress_bar = false")  # it would draw into the output of a notebook
        self._objects: Any = None
        if is_remote(folder.path):
            from lookaway.io.duckdb_object_fs import DuckDBObjectFS

            self._objects = DuckDBObjectFS()
            self._database.register_filesystem(self._objects)
        with _interruptible():
            self._create_tables(asked, metrics)
            self._with_retry(lambda: None)

    def finished(self) -> set[tuple[str, str]]:
        """Rollout and metric of every outcome that need not be retried; failures and unanswered judge calls are."""
        again = [reason.value for reason in WORTH_ANOTHER_TRY]
        query = "SELECT rollout, metric FROM items WHERE status <> 'failure' AND NOT coalesce(reason IN ?, false)"
        with _interruptible():
            found = self._database.execute(query, [again]).fetchall()
        return {(rollout, metric) for rollout, metric in found}

    def passed_limits(self, reasons: Sequence[str]) -> dict[tuple[str, str], dict[str, float]]:
        """Reason and highest limit that was passed, by rollout and metric, where the outcome has one of the reasons."""
        limits: dict[tuple[str, str], dict[str, float]] = {}
        with _interruptible():
            if not self._database.execute("SELECT 1 FROM items WHERE reason IN ? LIMIT 1", [reasons]).fetchone():
                return limits  # the rule, and no file is read for it
            found = self._with_retry(lambda: self._database.execute(PASSED_LIMITS, [reasons]).fetchall())
        for rollout, metric, reason, limit in found:
            limits.setdefault((rollout, metric), {})[reason] = limit
        return limits

    def groups(self) -> list[Group]:
        """Outcomes by model, metric and subset, in the order of the protocol."""
        with _interruptible():
            reasons, branches = self._counts(REASONS), self._counts(BRANCHES)
            rows = self._database.execute(GROUPS).fetchall()
        return [
            Group(
                model=model,
                metric=metric,
                subset=subset,
                values=np.array(values or [], np.float64),
                rollouts=tuple(rollouts or ()),
                scenes=tuple(scenes or ()),
                raw_values=np.array(raws or [], np.float64),
                has_raw=np.array(has_raw or [], np.bool_),
                asked=asked,
                failures=failures,
                is_gate=self._metrics[metric].is_gate,
                is_consistency=self._metrics[metric].is_consistency,
                protocol=self._metrics[metric].protocol,
                range=self._metrics[metric].range,
                branches=branches.get((model, metric, subset), {}),
                reasons={
                    **reasons.get((model, metric, subset), {}),
                    **({Reason.NOT_YET_MEASURED.value: asked - measured} if asked > measured else {}),
                },
            )
            for model, metric, subset, values, rollouts, scenes, raws, has_raw, failures, measured, asked in rows
        ]

    def items(self, case: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Every outcome of the run, or of one case, as a row, in the order of rollouts and the protocol."""
        chosen, values = ('WHERE "case" = ?', [case]) if case is not None else ("", [])
        query = f"SELECT * EXCLUDE (filename) FROM items {chosen} ORDER BY rollout, position"  # noqa: S608 - constants
        with _interruptible():
            yield from _stream(self._database.cursor().execute(query, values))

    def units(self, metric: str) -> Iterator[Mapping[str, Any]]:
        """Every unit of one metric as a row, of the measurement that counts."""
        cursor = self._database.cursor()
        with _interruptible():
            for row in _stream(self._with_retry(lambda: cursor.execute(UNITS, [metric]))):
                if row["status"] == "score" and not math.isfinite(_number(row["value"])):
                    raise self._not_finite(self._folder.outcomes, metric)
                yield row

    def metrics_with_frames(self) -> list[str]:
        """Metrics whose units are frames, in the order of the protocol."""
        return self.metrics_with_units(FRAME)

    def metrics_with_units(self, names: str) -> list[str]:
        """Metrics with scored units whose full names match a pattern, in the order of the protocol."""
        with _interruptible():
            found = self._with_retry(lambda: self._database.execute(METRICS_WITH_UNITS, [names]).fetchall())
        return [metric for (metric,) in found]

    def frames(self, metric: str) -> FrameUnits:
        """The value of every frame of one metric, of measurements that count and have a score."""

        def ask() -> FrameUnits:
            scored = self._database.execute(SCORED, [metric]).fetchall()
            models, subsets, scenes, ids = zip(*scored, strict=True) if scored else ((), (), (), ())
            found = self._database.execute(FRAMES, [metric]).fetchnumpy()
            if not np.isfinite(found["value"]).all():
                raise self._not_finite(self._folder.outcomes, metric)
            return FrameUnits(
                rollouts=found["rollout"],
                frames=found["frame"],
                values=found["value"],
                models=models,
                subsets=subsets,
                scenes=scenes,
                ids=ids,
            )

        with _interruptible():
            return self._with_retry(ask)

    def _create_tables(self, rollouts: pa.Table, metrics: Sequence[AskedMetric]) -> None:
        run = self._database.execute
        run("SET preserve_insertion_order = false")
        self._database.register("given", rollouts)
        run("CREATE TABLE rollouts AS SELECT * FROM given")
        self._database.unregister("given")
        run("CREATE TABLE metrics (metric TEXT, lock TEXT, position INTEGER)")
        run("CREATE TABLE asked_subsets (metric TEXT, subset TEXT)")
        subsets = [row[0] for row in run("SELECT DISTINCT subset FROM rollouts").fetchall()]
        for position, metric in enumerate(metrics):
            run("INSERT INTO metrics VALUES (?, ?, ?)", [metric.name, metric.lock, position])
            for subset in subsets if metric.subsets is None else metric.subsets:
                run("INSERT INTO asked_subsets VALUES (?, ?)", [metric.name, subset])
        run("CREATE VIEW asked AS SELECT * FROM rollouts JOIN asked_subsets USING (subset) JOIN metrics USING (metric)")

    def _with_retry(self, ask: Callable[[], T]) -> T:
        """Run a query; if it fails, list files again and retry, since some may have vanished or come anew meanwhile.

        Files that fail twice are damaged.
        """
        failed: dict[Path, int] | None = None
        for left in reversed(range(TRIES)):
            try:
                if self._parts is None:
                    self._read_items()
                return ask()
            except duckdb.OutOfMemoryException as error:
                raise RunError(f"{self._folder.path}: reading its rows takes too much memory ({error}).") from error
            except (duckdb.Error, RuntimeError) as error:
                if str(error) == INTERRUPTED:
                    raise
                if self._objects is not None and (problem := self._objects.take_error()) is not None:
                    raise problem from error
                is_damaged = self._parts == failed and self._leave_out(damaged_parts([*(self._parts or ())]))
                if left == 0 or (self._parts == failed and not is_damaged):
                    raise RunError(
                        f"{self._folder.path}: its rows cannot be read ({error}). "
                        "Delete the damaged file; the same `lookaway eval` measures its rollouts again."
                    ) from error
                failed, self._parts = self._parts, None
        raise AssertionError("the last try returns or raises")

    def _leave_out(self, damaged: Sequence[tuple[Path, DamagedFile]]) -> bool:
        """Read no row of damaged files, and say so; false if there are none."""
        for part, error in damaged:
            LOG.warning("%s", error)
            self._damaged.add(part)
        return bool(damaged)

    def _found(self) -> dict[Path, int]:
        """The current files, with the sizes of objects; sizes of files are not needed."""
        if not is_remote(self._folder.path):
            return dict.fromkeys(self._folder.parts(), 0)
        return {path: size for path, size in object_sizes(self._folder.outcomes).items() if path.suffix == PART}

    def _find_parts(self) -> dict[Path, int]:
        """The current files that are as they were written; each is read and verified once."""
        found = self._found()
        new = [path for path in found if path not in self._verified | self._damaged]
        if self._objects is None:
            self._leave_out(damaged_parts(new, is_parsed=False))
        else:
            self._objects.hold(found)
            self._leave_out(damaged_parts(new, is_parsed=False, keep=self._objects.keep))
        self._verified.update(new)
        return {path: size for path, size in found.items() if path not in self._damaged}

    def _read_items(self) -> None:
        self._parts = self._find_parts()
        if self._parts:
            files = [str(part) for part in self._parts]
            self._database.read_parquet(files, filename=True).create_view("all_rows", replace=True)
        else:
            empty = SCHEMA.empty_table().append_column("filename", pa.array([], pa.string()))
            self._database.register("empty", empty)  # cursors do not see what is registered, but tables they do
            self._database.execute("CREATE OR REPLACE TABLE no_rows AS SELECT * FROM empty")
            self._database.execute("CREATE OR REPLACE VIEW all_rows AS SELECT * FROM no_rows")
        self._database.execute(ITEMS)
        if wrong := self._database.execute(NOT_FINITE).fetchone():
            raise self._not_finite(*wrong)

    def _not_finite(self, where: object, metric: str) -> RunError:
        return RunError(
            f"{where}: a score of {metric} is not a finite number. "
            "Delete the damaged file; the same `lookaway eval` measures its rollouts again."
        )

    def _counts(self, query: str) -> dict[tuple[str, str, str], dict[str, int]]:
        counts: dict[tuple[str, str, str], dict[str, int]] = {}
        for model, metric, subset, name, count in self._database.execute(query).fetchall():
            counts.setdefault((model, metric, subset), {})[name] = count
        return counts


@contextmanager
def _interruptible() -> Iterator[None]:
    """DuckDB reports Ctrl-C as an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _stream(cursor: duckdb.DuckDBPyConnection) -> Iterator[Mapping[str, Any]]:
    names = [column[0] for column in cursor.description or ()]
    while rows := cursor.fetchmany(10_000):
        for row in rows:
            yield dict(zip(names, row, strict=True))
