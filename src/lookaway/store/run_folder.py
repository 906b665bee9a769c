"""A run on disk.

    RUN/lock.json           everything that can move a number
    RUN/run.json            what was asked: dataset, metrics, problems; for people and for `show`
    RUN/rollouts.parquet    the rollouts of the run, with the hash of their content
    RUN/outcomes/*.parquet  rows, added as whole files; many small ones become one large one
    RUN/features/           what was perceived, kept for the next metric
    RUN/replies/            what a judge replied, under the hash of what it was asked
    RUN/spending.jsonl      what asking it has cost
    RUN/events.jsonl        what happened when

Measurements are only ever added. What counts is decided when they are read: rows of the rollouts, contents and locks
that the run names now; of several measurements with one key, a score before an abstention before a failure.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lookaway.core import Json, Lock, Rollout, RunError
from lookaway.io.files import read_json, write_json, write_whole
from lookaway.store.outcome_rows import Measured, each_measurement_once, rows, write_rows

COMPACT_AFTER_PARTS = 256
"""Ten thousand tiny files take a minute to open; forty larger ones a moment."""
COMPACT = "compact-"
ROLLOUT_COLUMNS = ("rollout", "content", "model", "case", "subset", "scene", "seed", "video")
ABOUT_KEYS = frozenset({"suite", "lock_sha256", "metrics", "problems"})


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
        table = rollout_rows(rollouts)
        with self._writing():
            self.outcomes.mkdir(parents=True, exist_ok=True)
            write_whole(self.rollouts_file, lambda file: pq.write_table(table, file, compression="zstd"))
            write_json(self.lock_file, {**lock.entries, "sha256": lock.sha256})
            write_json(self.path / "run.json", about)

    def lock(self) -> Lock:
        """The lock of the run."""
        return Lock({name: entry for name, entry in self._read("lock.json").items() if name != "sha256"})

    def about(self) -> dict[str, Any]:
        """What was asked."""
        about = self._read("run.json")
        if missing := sorted(ABOUT_KEYS - about.keys()):
            raise RunError(f"{self.path / 'run.json'}: lacks {', '.join(missing)}. Run the same `lookaway eval` again.")
        return about

    def add(self, measured: Sequence[Measured]) -> Path:
        """Add the outcomes of one rollout as one file, whole or not at all; the same outcomes give the same name."""
        keys = sorted(f"{m.rollout}\n{m.content}\n{m.metric}\n{m.lock}\n{type(m.outcome).__name__}" for m in measured)
        path = self.outcomes / f"{_short_hash(keys)}.parquet"
        table = rows(measured)
        with self._writing():
            write_whole(path, lambda file: write_rows(table, file))
        return path

    def parts(self) -> list[Path]:
        """All files of rows."""
        return sorted(self.outcomes.glob("*.parquet"))

    def compact(self) -> None:
        """Put the rows of all small files into one. A crash half-way leaves rows twice, which reading allows for."""
        with self._writing(), self._alone() as is_alone:
            parts = [part for part in self.parts() if not part.name.startswith(COMPACT)] if is_alone else []
            if len(parts) < 2:
                return
            merged = each_measurement_once([_read_part(part) for part in parts])
            target = self.outcomes / f"{COMPACT}{_short_hash([part.name for part in parts])}.parquet"
            write_whole(target, lambda file: write_rows(merged, file))
            for part in parts:
                part.unlink()

    def note(self, event: str, **facts: Json) -> None:
        """Append one line to the events."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, ensure_ascii=False) + "\n"
        with self._writing(), (self.path / "events.jsonl").open("ab", buffering=0) as file:
            # One call to the system for one line: lines of several processes never mix.
            file.write(line.encode("utf-8", "backslashreplace"))

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        if not path.is_file():
            raise RunError(f"{self.path}: not a run folder, there is no {name}. Make one with `lookaway eval`.")
        content = read_json(path)
        if not isinstance(content, dict):
            raise RunError(f"{path}: expected an object, found {content!r:.80}. Run the same `lookaway eval` again.")
        return content

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(f"{self.path}: the run cannot be written here: {error}.") from error

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other process compacts this run at the moment; none starts to before this ends."""
        with (self.outcomes / ".compacting").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True


def rollout_rows(rollouts: Sequence[tuple[Rollout, str]]) -> pa.Table:
    """Rollouts with the hash of their content, as the run keeps them."""
    records = [
        (r.id, content, r.model, r.case.id, r.case.subset, r.case.scene, r.seed, _path_text(r.video))
        for r, content in rollouts
    ]
    return pa.table(
        {name: pa.array([record[n] for record in records], pa.string()) for n, name in enumerate(ROLLOUT_COLUMNS)}
    )


def _read_part(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise RunError(
            f"{path}: cannot be read ({error}). Delete it; the same `lookaway eval` measures its rollouts again."
        ) from error


def _path_text(path: Path) -> str:
    """File names are bytes; those that are no valid UTF-8 are shown, not refused."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _short_hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]
