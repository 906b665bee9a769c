"""Writes run folders of millions of rows, as many evaluated rollouts and their compaction would leave them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from lookaway.core import Case, Lock, Rollout
from lookaway.store.outcome_rows import SCHEMA
from lookaway.store.run_folder import COMPACT, COMPACT_AFTER_PARTS, RunFolder

METRICS = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")
LOCK = "0123456789abcdef" * 2
ITEM_DETAIL, UNIT_DETAIL = '{"pairs":"fold","pairs_scored":20}', '{"matches":812,"model":"epipolar"}'


@dataclass(frozen=True)
class LargeRun:
    """`models` times `cases` rollouts, three metrics each, `units` unit rows for each metric."""

    path: Path
    models: int
    cases: int
    units: int

    @property
    def unit_rows(self) -> int:
        """Rows of units, not counting those that stand twice."""
        return self.models * self.cases * len(METRICS) * self.units

    @cached_property
    def rollouts(self) -> list[Rollout]:
        """All rollouts of the run."""
        samples = [
            Case(id=f"environment:sample_{case:06d}:left_then_right_10s", subset="environment", scene=f"s{case}")
            for case in range(self.cases)
        ]
        return [
            Rollout(case=sample, model=f"model_{model:02d}", video=Path("video.mp4"))
            for model in range(self.models)
            for sample in samples
        ]

    @cached_property
    def values(self) -> np.ndarray:
        """What each metric gave for each rollout: [rollouts, metrics]."""
        return np.random.default_rng(0).random((len(self.rollouts), len(METRICS)))

    def write(self, *, small_parts: int = 0) -> RunFolder:
        """Write the folder; the last rollouts as so many parts that were not compacted yet."""
        folder = RunFolder(self.path)
        about = {
            "suite": "mbench-a",
            "lock_sha256": LOCK,
            "problems": [],
            "metrics": [{"name": name, "lock": LOCK, "subsets": ["environment"]} for name in METRICS],
        }
        folder.start(Lock({}), [(rollout, _content(number)) for number, rollout in enumerate(self.rollouts)], about)
        compacted = len(self.rollouts) - small_parts
        spans = [range(n, min(n + COMPACT_AFTER_PARTS, compacted)) for n in range(0, compacted, COMPACT_AFTER_PARTS)]
        singles = [range(n, n + 1) for n in range(compacted, len(self.rollouts))]
        with ThreadPoolExecutor(2) as pool:
            for span in spans:
                pool.submit(self.write_part, f"{COMPACT}{span.start:08d}", span)
            for span in singles:
                pool.submit(self.write_part, f"{span.start:08d}", span)
        return folder

    def write_part(self, name: str, numbers: range) -> None:
        """One file with the rows of some rollouts."""
        rows = 1 + self.units
        count = len(numbers) * len(METRICS) * rows
        values = self.values[numbers.start : numbers.stop].ravel()
        unit_names = [None, *(f"f{unit}_f{80 - unit}" for unit in range(self.units))]
        details = [ITEM_DETAIL, *[UNIT_DETAIL] * self.units]
        columns = {
            "rollout": _each([self.rollouts[number].id for number in numbers], rows * len(METRICS)),
            "content": _each([_content(number) for number in numbers], rows * len(METRICS)),
            "metric": pa.concat_arrays([_each(list(METRICS), rows)] * len(numbers)),
            "lock": pa.repeat(LOCK, count),
            "unit": pa.concat_arrays([pa.array(unit_names)] * (count // rows)),
            "status": pa.repeat("score", count),
            "reason": pa.nulls(count, pa.string()),
            "value": pa.array(np.repeat(values, rows)),
            "raw": pa.array(np.repeat(-np.log(values), rows) + np.tile(np.arange(rows), count // rows)),
            "message": pa.nulls(count, pa.string()),
            "detail": pa.concat_arrays([pa.array(details)] * (count // rows)),
        }
        RunFolder(self.path).write_part(name, pa.table(columns, SCHEMA))


def _content(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}{number:016x}"


def _each(texts: list[str], times: int) -> pa.Array:
    return pa.array(texts).take(pa.array(np.repeat(np.arange(len(texts)), times)))
