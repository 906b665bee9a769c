"""Verifies every file of a run by the hash that it carries, without changing any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lookaway.core import Json, RunError, StorageError, UserError
from lookaway.engine.timings import COSTS, read_run_costs
from lookaway.io.checksums import DAMAGED, SHA256, hash_in_name, is_sealed, unseal_line
from lookaway.io.files import files_below, is_file, list_files, read_bytes, read_json
from lookaway.io.journal import UNFINISHED
from lookaway.io.object_storage import as_path, for_all, is_remote
from lookaway.judges.reply_store import read_reply
from lookaway.store.feature_store import SUFFIX, has_seal, read_feature
from lookaway.store.run_folder import EVENTS, ROLLOUTS_HASH, RUN, SPENDING, RunFolder, damaged_parts

NO_EVENT: Final = "It is left out, and may be deleted: no score depends on it."
REPLIES: Final = "replies"
LINES: Final = ".jsonl"
REMEDIES: Final = {
    EVENTS: NO_EVENT,
    SPENDING: "Correct or delete it: budgets depend on it.",
}
MERGED_APPEND: Final = b'{"append": '
"""Begins the line before each append in a merged object of a journal."""


@dataclass(slots=True, kw_only=True)
class CheckedFiles:
    """The files, or the lines, of one kind."""

    kind: str
    count: int = 0
    unhashed: int = 0
    """Written by a version that kept no hash: nothing says whether they are as they were written."""
    damaged: list[str] = field(default_factory=list)
    """Which are damaged, and what to do."""
    unfinished: list[str] = field(default_factory=list)
    """Which were being written when their process ended: a kill is no damage, and what was acknowledged is whole."""

    def add(self, *, is_hashed: bool, damage: str | None) -> None:
        """Count one."""
        self.count += 1
        self.unhashed += not is_hashed and damage is None
        if damage is not None:
            self.damaged.append(damage)

    def to_json(self) -> Json:
        """As a JSON object."""
        return {
            "kind": self.kind,
            "count": self.count,
            "unhashed": self.unhashed,
            "damaged": list(self.damaged),
            "unfinished": list(self.unfinished),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCheck:
    """What the files of a run are like."""

    kinds: Sequence[CheckedFiles]
    set_aside: Sequence[str]
    """Damaged files that an earlier `eval` renamed. They are kept, and not read."""

    @property
    def damaged(self) -> list[str]:
        """All damaged files and lines, and what to do."""
        return [damage for kind in self.kinds for damage in kind.damaged]

    @property
    def unfinished(self) -> list[str]:
        """All that a kill interrupted and nothing depends on."""
        return [name for kind in self.kinds for name in kind.unfinished]

    @property
    def unhashed(self) -> int:
        """How many files and lines carry no hash."""
        return sum(kind.unhashed for kind in self.kinds)

    def to_json(self) -> Json:
        """As a JSON object."""
        kinds: list[Json] = [kind.to_json() for kind in self.kinds]
        return {"is_whole": not self.damaged, "kinds": kinds, "set_aside": list(self.set_aside)}


def check_run(run: Path | str) -> RunCheck:
    """Verify the whole run; raises `RunError` if it is none."""
    folder = RunFolder(as_path(run))
    if not is_file(folder.path / RUN):
        raise RunError(f"{folder.path}: not a run folder, there is no {RUN}. Make one with `lookaway eval`.")
    features = files_below(folder.features, SUFFIX)
    replies = files_below(folder.path / REPLIES, ".json")
    kinds = (
        _records(folder),
        _rows(folder),
        _stored("features", features, read_feature, has_seal),
        _stored("replies", replies, read_reply, lambda content: True),
        _journal(folder.path / EVENTS),
        _journal(folder.path / SPENDING),
    )
    aside = [*list_files(folder.outcomes, DAMAGED), *files_below(folder.path / REPLIES, DAMAGED)]
    return RunCheck(kinds=kinds, set_aside=[str(path) for path in aside])


def _records(folder: RunFolder) -> CheckedFiles:
    """The files that say what the run is."""
    checked = CheckedFiles(kind="records")
    records = _Records(folder)
    readers = [records.has_hashed_about, records.has_hashed_lock, records.has_hashed_rollouts]
    if is_file(folder.path / COSTS):
        readers.append(records.has_hashed_costs)
    for has_hash in readers:
        try:
            checked.add(is_hashed=has_hash(), damage=None)
        except StorageError:
            raise
        except UserError as error:
            checked.add(is_hashed=True, damage=str(error))
    return checked


@dataclass(slots=True)
class _Records:
    """Reads each record, and says whether it carries a hash; raises a `UserError` if it is damaged."""

    folder: RunFolder
    about: dict[str, Any] = field(default_factory=dict)

    def has_hashed_about(self) -> bool:
        self.about = self.folder.about()
        return ROLLOUTS_HASH in self.about

    def has_hashed_lock(self) -> bool:
        lock = self.folder.lock()
        if self.about.get("lock_sha256", lock.sha256) != lock.sha256:
            raise RunError(
                f"{self.folder.lock_file}: not the lock that {RUN} names: a start of `lookaway eval` was interrupted. "
                "Run the same `lookaway eval` again."
            )
        return True

    def has_hashed_rollouts(self) -> bool:
        if not self.about:  # it has the hash of the rollouts, and is listed already
            return True
        self.folder.rollouts()
        return ROLLOUTS_HASH in self.about

    def has_hashed_costs(self) -> bool:
        read_run_costs(self.folder.path)
        stored = read_json(self.folder.path / COSTS)
        return isinstance(stored, dict) and SHA256 in stored


def _rows(folder: RunFolder) -> CheckedFiles:
    checked = CheckedFiles(kind="rows")
    parts = folder.parts()
    damaged = dict(damaged_parts(parts))
    for part in parts:
        error = damaged.get(part)
        checked.add(is_hashed=hash_in_name(part) is not None, damage=None if error is None else str(error))
    return checked


def _stored(
    kind: str, paths: Sequence[Path], read: Callable[[Path, bytes], object], has_hash: Callable[[bytes], bool]
) -> CheckedFiles:
    """Features or replies."""
    checked = CheckedFiles(kind=kind)

    def check(path: Path) -> tuple[bool, str | None]:
        try:
            content = read_bytes(path)
            read(path, content)
        except StorageError:
            raise
        except (RunError, OSError) as error:
            return True, str(error)
        return has_hash(content), None

    for is_hashed, damage in for_all(check, paths):
        checked.add(is_hashed=is_hashed, damage=damage)
    return checked


def _journal(path: Path) -> CheckedFiles:
    """The lines of a journal."""
    checked = CheckedFiles(kind=f"lines of {path.name}")
    for file in _files_of_journal(path):
        *lines, rest = read_bytes(file).split(b"\n")
        for number, line in enumerate([*lines, rest + UNFINISHED] if rest else lines, start=1):
            if not line or line.startswith(MERGED_APPEND):
                continue
            if path.name == EVENTS and _is_cut_off(line):
                checked.unfinished.append(f"{file}: line {number} was being written at a crash. {NO_EVENT}")
                continue
            is_damaged = unseal_line(line) is None or not (line.startswith(b"{") and line.endswith(b"}"))
            damage = f"{file}: line {number} is damaged. {REMEDIES[path.name]}" if is_damaged else None
            checked.add(is_hashed=is_sealed(line), damage=damage)
    return checked


def _is_cut_off(line: bytes) -> bool:
    """Whether a line is what a kill leaves: the beginning of an event, and nothing else."""
    begun = line.removesuffix(UNFINISHED)
    return begun != line and begun.startswith(b"{") and b"\0" not in begun and not is_sealed(begun[:-1])


def _files_of_journal(path: Path) -> Iterator[Path]:
    if is_file(path):
        yield path
    if is_remote(path) or path.is_dir():
        yield from list_files(path, LINES)
