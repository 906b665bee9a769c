"""A run, on disk or on object storage.

    RUN/lock.json           everything that can move a number
    RUN/run.json            dataset, metrics, options and problems; for people and for `show`
    RUN/rollouts.parquet    the rollouts of the run, with the hash of their content
    RUN/outcomes/*.parquet  rows, added as whole files; many small ones become one large one
    RUN/features/           extracted features, stored for the next metric
    RUN/replies/            replies of a judge, by the hash of the request
    RUN/spending.jsonl      cost of the judge calls
    RUN/events.jsonl        what happened when
    RUN/costs.json          time of each stage, session by session

On object storage spending and events are folders, since nothing can be appended to an object.

Measurements are only ever added. Readers decide which count: rows with the rollouts, contents and locks of the run; of
several measurements with one key, a score before an abstention before a failure.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.core import Json, Lock, Rollout, RunError, StorageError
from lookaway.io.files import (
    PARTIAL,
    is_file,
    list_files,
    make_folder,
    read_all,
    read_bytes,
    read_json,
    remove_all,
    write_json,
    write_whole,
)
from lookaway.io.journal import Journal
from lookaway.io.object_storage import is_remote, run_errors
from lookaway.io.parquet import read_parquet
from lookaway.store.outcome_rows import Measured, each_measurement_once, read_rows, rows, write_rows

COMPACT_AFTER_PARTS = 256
"""Ten thousand small files take a minute to open; forty larger ones a moment."""
COMPACT = "compact-"
READ_AT_ONCE = 64
ROWS_AT_ONCE = 500_000
"""In memory, while they are merged."""
LITTER_SECONDS = 24 * 3600
"""Age after which a partial file belongs to a killed writer."""
EVENTS, SPENDING = "events.jsonl", "spending.jsonl"
ROLLOUT_COLUMNS = ("rollout", "content", "model", "case", "subset", "scene", "seed", "video")
ABOUT_KEYS = frozenset({"suite", "lock_sha256", "metrics", "problems"})


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

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

    def start(self, lock: Lock, rollouts: Sequence[tuple[Rollout, str]], about: Json) -> None:
        """Write lock, rollouts and `run.json`, before anything is measured."""
        self.begin_with(lock, rollout_rows(rollouts), about)

    def begin_with(self, lock: Lock, rollouts: pa.Table, about: Json) -> None:
        """The same, for rollouts as a table."""
        with self._writing():
            make_folder(self.outcomes)
            write_whole(self.rollouts_file, lambda file: write_rows(rollouts, file))
            write_json(self.lock_file, {**lock.entries, "sha256": lock.sha256})
            write_json(self.path / "run.json", about)

    def lock(self) -> Lock:
        """The lock of the run; an error if it was changed since it was written."""
        return parse_lock(self._read("lock.json"), self.lock_file)

    def about(self) -> dict[str, Any]:
        """What was asked."""
        about = self._read("run.json")
        if missing := sorted(ABOUT_KEYS - about.keys()):
            raise RunError(f"{self.path / 'run.json'}: lacks {', '.join(missing)}. Run the same `lookaway eval` again.")
        return about

    def rollouts(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rollouts of the run's last start, as rows."""
        try:
            return read_parquet(read_bytes(self.rollouts_file), columns)
        except StorageError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise RunError(
                f"{self.rollouts_file}: cannot be read ({error}). Run the same `lookaway eval` again."
            ) from error

    def add(self, measured: Sequence[Measured]) -> Path:
        """Add the outcomes of some rollouts as one file, atomically; equal outcomes give equal names."""
        keys = sorted(f"{m.rollout}\n{m.content}\n{m.metric}\n{m.lock}\n{type(m.outcome).__name__}" for m in measured)
        path = self.outcomes / f"{_short_hash(keys)}.parquet"
        table = rows(measured)
        with self._writing():
            write_whole(path, lambda file: write_rows(table, file))
        return path

    def parts(self) -> list[Path]:
        """All files of rows."""
        return list_files(self.outcomes, ".parquet")

    def compact(self) -> None:
        """Merge the rows of all small files into few. A crash half-way leaves rows twice, which readers handle."""
        with self._writing():
            with self._alone() as is_alone:
                if is_alone:
                    self._compact_parts()
            for name in (EVENTS, SPENDING):
                Journal(self.path / name).merge()

    def note(self, event: str, **facts: Json) -> None:
        """Append one line to the events."""
        self.note_all([{"event": event, **facts}])

    def note_all(self, events: Sequence[Mapping[str, Json]]) -> None:
        """Append a line for each of some events, all at once."""
        now = round(time.time(), 3)
        lines = [json.dumps({"time": now, **event}, ensure_ascii=False) for event in events]
        with self._writing():
            Journal(self.path / EVENTS).append([line.encode("utf-8", "backslashreplace") for line in lines])

    def _compact_parts(self) -> None:
        if not is_remote(self.outcomes):
            _remove_litter(self.outcomes)
        parts = [part for part in self.parts() if not part.name.startswith(COMPACT)]
        try:
            for group, tables in _groups(parts):
                if len(group) > 1:
                    self._put_into_one(group, tables)
        except FileNotFoundError:
            return  # somebody else is compacting them

    def _put_into_one(self, parts: Sequence[Path], tables: Sequence[pa.Table]) -> None:
        merged = each_measurement_once(tables)
        target = self.outcomes / f"{COMPACT}{_short_hash([part.name for part in parts])}.parquet"
        write_whole(target, lambda file: write_rows(merged, file))
        remove_all(parts)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        if not is_file(path):
            raise RunError(f"{self.path}: not a run folder, there is no {name}. Make one with `lookaway eval`.")
        content = read_json(path)
        if not isinstance(content, dict):
            raise RunError(f"{path}: expected an object, found {content!r:.80}. Run the same `lookaway eval` again.")
        return content

    def _writing(self) -> AbstractContextManager[None]:
        return run_errors(f"{self.path}: the run cannot be written here")

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Hold the lock for compaction; false if another process holds it.

        Object storage has no locks. Two processes that compact at once leave rows twice, and lose none.
        """
        if is_remote(self.outcomes):
            yield True
            return
        with (self.outcomes / ".compacting").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True


def parse_lock(content: Mapping[str, Json], path: Path) -> Lock:
    """The content of a `lock.json`, which must match the hash in it."""
    lock = Lock({name: entry for name, entry in content.items() if name != "sha256"})
    recorded = content.get("sha256", lock.sha256)
    if recorded != lock.sha256:
        raise RunError(
            f"{path}: records the hash {recorded!r:.80}, but its content hashes to {lock.sha256}: it was changed. "
            "Restore the file, or run the same `lookaway eval` again, which writes it anew."
        )
    return lock


def rollout_rows(rollouts: Sequence[tuple[Rollout, str]]) -> pa.Table:
    """Rollouts with the hash of their content, as a table."""
    records = [
        (r.id, content, r.model, r.case.id, r.case.subset, r.case.scene, r.seed, _path_text(r.video))
        for r, content in rollouts
    ]
    return pa.table(
        {name: pa.array([record[n] for record in records], pa.string()) for n, name in enumerate(ROLLOUT_COLUMNS)}
    )


def _groups(parts: Sequence[Path]) -> Iterator[tuple[list[Path], list[pa.Table]]]:
    """Files with their rows, in batches that fit into memory."""
    group: list[Path] = []
    tables: list[pa.Table] = []
    for start in range(0, len(parts), READ_AT_ONCE):
        some = parts[start : start + READ_AT_ONCE]
        for part, content in zip(some, read_all(some), strict=True):
            group.append(part)
            tables.append(read_rows(part, content))
            if sum(map(len, tables)) >= ROWS_AT_ONCE:
                yield group, tables
                group, tables = [], []
    yield group, tables


def _remove_litter(folder: Path) -> None:
    """Remove partial files of killed writers."""
    oldest = time.time() - LITTER_SECONDS
    for path in folder.glob(f".*{PARTIAL}"):
        with suppress(FileNotFoundError):  # a slow writer has finished
            if path.stat().st_mtime < oldest:
                path.unlink()


def _path_text(path: Path) -> str:
    """Show file names that are not valid UTF-8 with escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _short_hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]
