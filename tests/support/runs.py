"""Looks into run folders."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lookaway.engine.run import Run
from lookaway.io.checksums import byte_hash, with_hash
from lookaway.reports.table import table_json
from lookaway.store.run_folder import RunFolder


def write_about(run: Path, about: Mapping[str, Any]) -> None:
    """Write another `run.json`, with the hashes that belong to it."""
    rollouts = byte_hash((run / "rollouts.parquet").read_bytes())
    (run / "run.json").write_text(json.dumps(with_hash({**about, "rollouts_blake2b": rollouts})))


def events(run: Path, kind: str | None = "measured") -> list[dict[str, Any]]:
    """The events of one kind in a run, or all of them, in order."""
    found = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [event for event in found if kind in (None, event["event"])]


def times_measured(run: Path) -> Counter[str]:
    """How often each rollout was measured."""
    return Counter(event["rollout"] for event in events(run) if event["event"] == "measured")


def outcomes(run: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Every outcome that counts, by rollout and metric."""
    return {(row["rollout"], row["metric"]): row for row in Run(run).items()}


def outcomes_on_disk(run: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Every outcome that was written, read without a database; for runs that were evaluated once."""
    rows = [row for part in RunFolder(run).parts() for row in pq.read_table(part).to_pylist() if row["unit"] is None]
    assert len({(row["rollout"], row["metric"]) for row in rows}) == len(rows)
    return {(row["rollout"], row["metric"]): row for row in rows}


def statuses(run: Path) -> dict[str, str]:
    """Status, or reason of the abstention or failure, by metric; for runs of one rollout."""
    return {metric: row["reason"] or row["status"] for (_, metric), row in outcomes(run).items()}


def plain_means(run: Run) -> dict[tuple[str, str], float]:
    """The mean over all rollouts by model and metric, whatever gates say."""
    values: dict[tuple[str, str], list[float]] = {}
    for row in run.scores:
        values.setdefault((row["model"], row["metric"]), []).append(row["value"])
    return {key: sum(found) / len(found) for key, found in values.items()}


def table_text(run: Path) -> str:
    """The table as `lookaway show --json` prints it."""
    return json.dumps(table_json(Run(run), Run(run).table()), sort_keys=True)
