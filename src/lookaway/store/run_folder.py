"""A run, on disk or on object storage.

    RUN/lock.json           everything that can move a number
    RUN/run.json            dataset, metrics, options and problems; for people and for `show`
    RUN/rollouts.parquet    the rollouts of the run, with the hash of their content
    RUN/outcomes/*.parquet  rows, added as whole files; many small ones become one large one; names end with a hash
    RUN/features/           extracted features, stored for the next metric
    RUN/replies/            replies of a judge, by the hash of the request
    RUN/spending.jsonl      cost of the judge calls
    RUN/events.jsonl        what happened when
    RUN/costs.json          time of each stage, session by session
    RUN/writer.json         who writes the run, while somebody does

On object storage spending and events are folders, since nothing can be appended to an object.

Measurements are only ever added. Readers decide which count: rows with the rollouts, contents and locks of the run; of
several measurements with one key, a score before an abstention before a failure.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from lookaway.core import DamagedFile, DatasetError, Json, Lock, Rollout, RunError, StorageError
from lookaway.core.lock import CARDS, CODE, ENVIRONMENTS
from lookaway.io.checksums import (
    SHA256,
    byte_hash,
    check_named,
    hash_in_name,
    set_aside,
    with_hash,
    without_hash,
)
from lookaway.io.files import (
    is_file,
    list_files,
    make_folder,
    read_all,
    read_bytes,
    read_json,
    remove_abandoned,
    remove_all,
    write_json,
    write_whole,
)
from lookaway.io.journal import Journal
from lookaway.io.object_storage import for_all, is_remote, run_errors
from lookaway.io.parquet import read_parquet
from lookaway.store.outcome_rows import Measured, each_measurement_once, read_rows, rows, write_rows

COMPACT_AFTER_PARTS = 256
"""Ten thousand small files take a minute to open; forty larger ones a moment."""
COMPACT = "compact-"
RUN, PART = "run.json", ".parquet"
READ_AT_ONCE = 64
ROWS_AT_ONCE = 500_000
"""In memory, while they are merged."""
EVENTS, SPENDING = "events.jsonl", "spending.jsonl"
ROLLOUT_COLUMNS = ("rollout", "content", "model", "case", "subset", "scene", "seed", "video")
ABOUT_KEYS = frozenset({"suite", "lock_sha256", "metrics", "problems"})
ROLLOUTS_HASH = "rollouts_blake2b"
"""Entry of `run.json`: the hash of `rollouts.parquet`."""
HASH_KEYS = frozenset({ROLLOUTS_HASH, SHA256})
LOG = logging.getLogger(__name__)


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

    def start(self, lock: Lock, rollouts: Sequence[tuple[Rollout, str]], about: Mapping[str, Json]) -> None:
        """Write lock, rollouts and `run.json`, before anything is measured."""
        self.begin_with(lock, rollout_rows(rollouts), about)

    def begin_with(self, lock: Lock, rollouts: pa.Table, about: Mapping[str, Json]) -> None:
        """The same, for rollouts as a table."""
        with self._writing():
            make_folder(self.outcomes)
            content = _as_parquet(rollouts)
            write_whole(self.rollouts_file, lambda file: file.write(content))
            write_json(self.lock_file, self._with_earlier(lock).to_json())
            write_json(self.path / RUN, with_hash({**about, ROLLOUTS_HASH: byte_hash(content)}))
            for name in (EVENTS, SPENDING):
                Journal(self.path / name).end_line()

    def lock(self) -> Lock:
        """The lock of the run; an error if it was changed since it was written."""
        content = self._read("lock.json")
        if SHA256 not in content:  # it always has one; if not, its name is what is damaged
            raise RunError(f"{self.lock_file}: lacks {SHA256}. Run the same `lookaway eval` again.")
        return parse_lock(content, self.lock_file)

    def add_environment(self, environment: Json) -> None:
        """Record beside the lock what measured rows of the run, unless it is there already."""
        lock = self.lock()
        if environment not in lock.environments:
            with self._writing():
                found = replace(lock, environments=(*lock.environments, environment))
                write_json(self.lock_file, found.to_json())

    def add_code(self, code: Mapping[str, Json]) -> None:
        """Record beside the lock which code measured metrics of the run, unless it is there already."""
        lock = self.lock()
        found = lock.with_code(code)
        if found.code != lock.code:
            with self._writing():
                write_json(self.lock_file, found.to_json())

    def add_cards(self, cards: Mapping[str, str]) -> None:
        """Record beside the lock the hash of each metric's card."""
        lock = self.lock()
        if cards != lock.cards:
            with self._writing():
                write_json(self.lock_file, replace(lock, cards=cards).to_json())

    def _with_earlier(self, lock: Lock) -> Lock:
        """The lock with the environments and the code of earlier sessions, whose rows still count."""
        earlier = self._earlier_lock()
        known = [*earlier.environments, *lock.environments]
        found = Lock(lock.entries, tuple(entry for number, entry in enumerate(known) if entry not in known[:number]))
        old, new = (each.entries.get("metrics", {}) for each in (earlier, lock))
        # Rows of a metric whose entry has changed do not count, nor does what made them.
        changed = {name for name in old if name in new and old[name] != new[name]}
        for code in earlier.code:
            kept = {name: own for name, own in code["metrics"].items() if name not in changed}
            found = found.with_code({**code, "metrics": kept}) if kept else found
        for code in lock.code:
            found = found.with_code(code)
        return found

    def _earlier_lock(self) -> Lock:
        """That of earlier sessions; an empty one where there were none, or where the file is damaged."""
        try:
            return self.lock() if is_file(self.lock_file) else Lock({})
        except StorageError:
            raise
        except (DatasetError, RunError):
            return Lock({})

    def about(self) -> dict[str, Any]:
        """What was asked."""
        stored = self._read(RUN)
        about = without_hash(stored, self.path / RUN)
        # The two hashes are written together: without one of them, its name is what is damaged.
        expected = ABOUT_KEYS if ROLLOUTS_HASH not in stored and SHA256 not in stored else ABOUT_KEYS | HASH_KEYS
        if missing := sorted(expected - stored.keys()):
            raise RunError(f"{self.path / RUN}: lacks {', '.join(missing)}. Run the same `lookaway eval` again.")
        return about

    def rollouts(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rollouts of the run's last start, as rows."""
        recorded = self.about().get(ROLLOUTS_HASH)
        try:
            content = read_bytes(self.rollouts_file)
            if recorded is not None and recorded != byte_hash(content):
                raise DamagedFile(
                    f"{self.rollouts_file}: does not have the hash in run.json: it was changed, or a start of "
                    "`lookaway eval` was interrupted. Run the same `lookaway eval` again, which rewrites it."
                )
            return read_parquet(content, columns)
        except StorageError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise RunError(
                f"{self.rollouts_file}: cannot be read ({error}). Run the same `lookaway eval` again."
            ) from error

    def add(self, measured: Sequence[Measured]) -> Path:
        """Add the outcomes of some rollouts as one file, atomically; equal outcomes give equal names."""
        keyed = sorted(((_key(entry), entry) for entry in measured), key=lambda pair: pair[0])
        with self._writing():
            return self.write_part(_short_hash([key for key, _ in keyed]), rows([entry for _, entry in keyed]))

    def write_part(self, name: str, table: pa.Table) -> Path:
        """Write a file of rows; the hash of its content becomes a part of its name."""
        content = _as_parquet(table)
        path = self.outcomes / f"{name}.{byte_hash(content)}{PART}"
        write_whole(path, lambda file: file.write(content))
        return path

    def set_aside_damaged(self) -> list[Path]:
        """Rename every file of rows that is damaged, and return their new names; rows of the others stay."""
        return [self._set_aside(part) for part, _ in damaged_parts(self.parts())]

    def _set_aside(self, part: Path) -> Path:
        aside = set_aside(part)
        LOG.warning("%s: damaged, and set aside as %s. `lookaway eval` measures its rollouts again.", part, aside.name)
        self.note("set_aside", file=aside.name)
        return aside

    def parts(self) -> list[Path]:
        """All files of rows."""
        return list_files(self.outcomes, PART)

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
            remove_abandoned(self.outcomes)
        parts = [part for part in self.parts() if not part.name.startswith(COMPACT)]
        try:
            for group, tables in self._groups(parts):
                if len(group) > 1:
                    self._put_into_one(group, tables)
        except FileNotFoundError:
            return  # somebody else is compacting them

    def _put_into_one(self, parts: Sequence[Path], tables: Sequence[pa.Table]) -> None:
        merged = each_measurement_once(tables)
        self.write_part(f"{COMPACT}{_short_hash([part.name for part in parts])}", merged)
        remove_all(parts)

    def _groups(self, parts: Sequence[Path]) -> Iterator[tuple[list[Path], list[pa.Table]]]:
        """Files with their rows, in batches that fit into memory; damaged ones are set aside."""
        group: list[Path] = []
        tables: list[pa.Table] = []
        for start in range(0, len(parts), READ_AT_ONCE):
            some = parts[start : start + READ_AT_ONCE]
            for part, content in zip(some, read_all(some), strict=True):
                try:
                    tables.append(read_rows(part, content))
                except DamagedFile:
                    self._set_aside(part)
                    continue
                group.append(part)
                if sum(map(len, tables)) >= ROWS_AT_ONCE:
                    yield group, tables
                    group, tables = [], []
        yield group, tables

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
    """The content of a `lock.json`; it, and each environment and code beside it, must match the hash in it."""
    environments, code = content.get(ENVIRONMENTS, []), content.get(CODE, [])
    if any(SHA256 not in entry for entry in (*environments, *code)):
        raise DamagedFile(f"{path}: an environment or code lacks {SHA256}. Run the same `lookaway eval` again.")
    beside = (ENVIRONMENTS, CARDS, CODE)
    return Lock(
        without_hash({name: entry for name, entry in content.items() if name not in beside}, path),
        tuple(without_hash(entry, path) for entry in environments),
        content.get(CARDS),
        tuple(without_hash(entry, path) for entry in code),
    )


def rollout_rows(rollouts: Sequence[tuple[Rollout, str]]) -> pa.Table:
    """Rollouts with the hash of their content, as a table."""
    records = [
        (r.id, content, r.model, r.case.id, r.case.subset, r.case.scene, r.seed, _path_text(r.video))
        for r, content in rollouts
    ]
    return pa.table(
        {name: pa.array([record[n] for record in records], pa.string()) for n, name in enumerate(ROLLOUT_COLUMNS)}
    )


def damaged_parts(
    parts: Sequence[Path], *, is_parsed: bool = True, keep: Callable[[Path, bytes], None] = lambda path, content: None
) -> list[tuple[Path, DamagedFile]]:
    """The files of rows that are not as they were written, with errors that name them.

    Files of older versions have no hash; with `is_parsed` they must at least be readable. `keep` is given the content
    of the others. Files that vanish meanwhile were compacted.
    """

    def damage(part: Path) -> DamagedFile | None:
        try:
            content = read_bytes(part)
            check_named(part, content)
            if is_parsed and hash_in_name(part) is None:
                read_rows(part, content)
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            return error
        keep(part, content)
        return None

    return [(part, error) for part, error in zip(parts, for_all(damage, parts), strict=True) if error is not None]


def _key(entry: Measured) -> str:
    return f"{entry.rollout}\n{entry.content}\n{entry.metric}\n{entry.lock}\n{type(entry.outcome).__name__}"


def _as_parquet(table: pa.Table) -> bytes:
    content = io.BytesIO()
    write_rows(table, content)
    return content.getvalue()


def _path_text(path: Path) -> str:
    """Show file names that are not valid UTF-8 with escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _short_hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]
