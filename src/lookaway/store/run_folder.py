"""A run on disk.

    RUN/lock.json           everything that can move a number
    RUN/run.json            what was asked: dataset, metrics, problems; for people and for `show`
    RUN/rollouts.parquet    the rollouts of the run, with the hash of their content
    RUN/outcomes/*.parquet  rows, appended as whole files; never changed
    RUN/features/           what was perceived, kept for the next metric
    RUN/events.jsonl        what happened when

Rows are only ever added. What counts is decided when they are read: rows of the rollouts, contents and locks that the
run names now; of several rows with one key, a score before an abstention before a failure.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import Json, Lock, Rollout, RunError
from lookaway.io.files import read_json, write_json, write_whole
from lookaway.store.outcome_rows import Measured, rows, write_rows

COMPACT_AFTER_PARTS = 256
"""Ten thousand tiny files take a minute to open; forty larger ones a moment."""
ROLLOUT_COLUMNS = ("rollout", "content", "model", "case", "subset", "scene", "seed", "video")


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Writes and finds the files of one run."""

    path: Path

    @property
    def lock_file(self) -> Path:
        """Everything that can move a number."""
        return self.path / "lock.json"

    @property
    def rollouts_file(self) -> Path:
        """The rollouts of the run."""
        return self.path / "rollouts.parquet"

    @property
    def outcomes(self) -> Path:
        """The folder of rows."""
        return self.path / "outcomes"

    @property
    def features(self) -> Path:
        """The folder of features."""
        return self.path / "features"

    def begin(self, lock: Lock, rollouts: Sequence[tuple[Rollout, str]], about: Json) -> None:
        """Write what is asked, before anything is measured."""
        self.outcomes.mkdir(parents=True, exist_ok=True)
        columns = [
            (r.id, content, r.model, r.case.id, r.case.subset, r.case.scene, r.seed, str(r.video))
            for r, content in rollouts
        ]
        table = pa.table(
            {name: pa.array([row[n] for row in columns], pa.string()) for n, name in enumerate(ROLLOUT_COLUMNS)}
        )
        write_whole(self.rollouts_file, lambda file: pq.write_table(table, file, compression="zstd"))
        write_json(self.lock_file, {**lock.entries, "sha256": lock.sha256})
        write_json(self.path / "run.json", about)

    def lock(self) -> Lock:
        """The lock of the run."""
        entries = dict(self._read("lock.json"))
        entries.pop("sha256", None)
        return Lock(entries)

    def about(self) -> Json:
        """What was asked."""
        return self._read("run.json")

    def add(self, measured: Sequence[Measured]) -> Path:
        """Add the outcomes of one rollout as one file, whole or not at all; the same outcomes give the same name."""
        keys = sorted(f"{m.rollout}\n{m.content}\n{m.metric}\n{m.lock}\n{type(m.outcome).__name__}" for m in measured)
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:32]
        path = self.outcomes / f"{name}.parquet"
        table = rows(measured)
        write_whole(path, lambda file: write_rows(table, file))
        return path

    def parts(self) -> list[Path]:
        """All files of rows."""
        return sorted(self.outcomes.glob("*.parquet"))

    def compact(self, parts: Iterable[Path]) -> None:
        """Put the rows of many files into one. A crash half-way leaves rows twice, which reading allows for."""
        parts = sorted(parts)
        if len(parts) < 2:
            return
        merged = pa.concat_tables([pq.read_table(part) for part in parts])
        name = hashlib.sha256("\n".join(part.name for part in parts).encode()).hexdigest()[:32]
        target = self.outcomes / f"compact-{name}.parquet"
        write_whole(target, lambda file: write_rows(merged, file))
        for part in parts:
            part.unlink()

    def note(self, event: str, **facts: Json) -> None:
        """Append one line to the events."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, ensure_ascii=False)
        with (self.path / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _read(self, name: str) -> Json:
        if not (self.path / name).is_file():
            raise RunError(f"{self.path}: not a run folder, there is no {name}. Make one with `lookaway eval`.")
        return read_json(self.path / name)
