"""Reads the rows of a run: what counts, each key once, grouped without loading units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from lookaway.core import Group
from lookaway.store.run_folder import RunFolder

MEMORY_LIMIT = "1GB"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMetric:
    """A metric of the run: the hash of its lock, and the subsets it is asked of (`None` is all)."""

    name: str
    lock: str
    subsets: tuple[str, ...] | None


class OutcomeReader:
    """A view of one run's rows. Use one per question; it sees the files that exist when it is made."""

    def __init__(self, folder: RunFolder, metrics: Sequence[AskedMetric]) -> None:
        self._database = duckdb.connect(config={"memory_limit": MEMORY_LIMIT})
        self._database.execute("SET preserve_insertion_order = false")
        run = self._database.execute
        run("CREATE TABLE rollouts AS SELECT * FROM read_parquet(?)", [str(folder.rollouts_file)])
        run("CREATE TABLE metrics (metric TEXT, lock TEXT, position INTEGER)")
        run("CREATE TABLE asked_subsets (metric TEXT, subset TEXT)")
        subsets = [row[0] for row in run("SELECT DISTINCT subset FROM rollouts").fetchall()]
        for position, metric in enumerate(metrics):
            run("INSERT INTO metrics VALUES (?, ?, ?)", [metric.name, metric.lock, position])
            for subset in subsets if metric.subsets is None else metric.subsets:
                run("INSERT INTO asked_subsets VALUES (?, ?)", [metric.name, subset])
        run("CREATE VIEW asked AS SELECT * FROM rollouts JOIN asked_subsets USING (subset) JOIN metrics USING (metric)")
        parts = [str(part) for part in folder.parts()]
        if parts:
            self._database.read_parquet(parts, filename=True, union_by_name=False).create_view("all_rows")
        else:
            run(
                "CREATE VIEW all_rows AS SELECT ''::TEXT AS rollout, '' AS content, '' AS metric, '' AS lock, "
                "NULL::TEXT AS unit, '' AS status, NULL::TEXT AS reason, NULL::DOUBLE AS value, NULL::DOUBLE AS raw, "
                "NULL::TEXT AS message, NULL::TEXT AS detail, '' AS filename WHERE false"
            )
        # A crash may leave one key in two files; a score is worth more than what an earlier try could not measure.
        run(
            "CREATE TABLE items AS "
            "SELECT r.* EXCLUDE (unit), a.model, a.case, a.subset, a.scene, a.seed, a.position "
            "FROM all_rows r JOIN asked a USING (rollout, content, metric, lock) WHERE r.unit IS NULL "
            "QUALIFY row_number() OVER (PARTITION BY rollout, metric ORDER BY "
            "CASE status WHEN 'score' THEN 0 WHEN 'abstention' THEN 1 ELSE 2 END, filename DESC) = 1"
        )

    def finished(self) -> set[tuple[str, str]]:
        """Rollout and metric of every outcome that need not be tried again; failures are."""
        found = self._database.execute("SELECT rollout, metric FROM items WHERE status <> 'failure'").fetchall()
        return {(rollout, metric) for rollout, metric in found}

    def groups(self) -> list[Group]:
        """Outcomes by model, metric and subset, in the order of the protocol."""
        reasons = self._reasons()
        query = """
            WITH measured AS (
                SELECT model, metric, subset,
                    list(value ORDER BY rollout) FILTER (status = 'score') AS values,
                    list(scene ORDER BY rollout) FILTER (status = 'score') AS scenes,
                    list(raw ORDER BY rollout) FILTER (status = 'score' AND raw IS NOT NULL) AS raws,
                    count(*) FILTER (status = 'failure') AS failures,
                    count(*) AS measured
                FROM items GROUP BY model, metric, subset
            ), asked_counts AS (
                SELECT model, metric, subset, any_value(position) AS position, count(*) AS asked
                FROM asked GROUP BY model, metric, subset
            )
            SELECT model, metric, subset, values, scenes, raws, coalesce(failures, 0), coalesce(measured, 0), asked
            FROM asked_counts LEFT JOIN measured USING (model, metric, subset) ORDER BY model, position, subset
        """
        return [
            Group(
                model=model,
                metric=metric,
                subset=subset,
                values=np.array(values or [], np.float64),
                scenes=tuple(scenes or ()),
                raw_values=np.array(raws or [], np.float64),
                asked=asked,
                failures=failures,
                reasons={
                    **reasons.get((model, metric, subset), {}),
                    **({"not_yet_measured": asked - measured} if asked > measured else {}),
                },
            )
            for model, metric, subset, values, scenes, raws, failures, measured, asked in self._database.execute(
                query
            ).fetchall()
        ]

    def items(self) -> Iterator[Mapping[str, Any]]:
        """Every outcome of the run as a row, in the order of rollouts and the protocol."""
        yield from self._stream("SELECT * EXCLUDE (filename) FROM items ORDER BY rollout, position")

    def units(self, metric: str) -> Iterator[Mapping[str, Any]]:
        """Every unit of one metric as a row; only of the measurement that counts."""
        yield from self._stream(
            "SELECT u.rollout, u.unit, u.status, u.reason, u.value, u.raw, u.message, u.detail, i.model, i.case "
            "FROM all_rows u JOIN items i USING (rollout, content, metric, lock, filename) "
            "WHERE u.unit IS NOT NULL AND u.metric = ? ORDER BY u.rollout, u.unit",
            [metric],
        )

    def unit_count(self) -> int:
        """How many unit rows the run holds."""
        row = self._database.execute("SELECT count(*) FROM all_rows WHERE unit IS NOT NULL").fetchone()
        return int(row[0]) if row else 0

    def _reasons(self) -> dict[tuple[str, str, str], dict[str, int]]:
        found = self._database.execute(
            "SELECT model, metric, subset, reason, count(*) FROM items WHERE status = 'abstention' "
            "GROUP BY ALL ORDER BY count(*) DESC, reason"
        ).fetchall()
        reasons: dict[tuple[str, str, str], dict[str, int]] = {}
        for model, metric, subset, reason, count in found:
            reasons.setdefault((model, metric, subset), {})[reason] = count
        return reasons

    def _stream(self, query: str, parameters: Sequence[str] = ()) -> Iterator[Mapping[str, Any]]:
        cursor = self._database.cursor().execute(query, list(parameters))
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(10_000):
            for row in rows:
                yield dict(zip(names, row, strict=True))
