"""Merges runs, such as shards, into the run that one machine would have made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lookaway.core import Json, Lock, RunError, StorageError, UserError
from lookaway.engine.about import differences_in_words
from lookaway.engine.run import Run
from lookaway.engine.timings import COSTS, read_run_costs
from lookaway.io.checksums import seal_line, with_hash
from lookaway.io.files import is_file, read_all, remove_all, write_json, write_whole
from lookaway.io.journal import Journal
from lookaway.io.object_storage import as_path, run_errors
from lookaway.store.outcome_rows import each_measurement_once, read_rows
from lookaway.store.run_folder import COMPACT, EVENTS, READ_AT_ONCE, ROWS_AT_ONCE, SPENDING, RunFolder
from lookaway.store.writer import sole_writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A dataset divided into parts, and which of them are there."""

    of: int
    rollouts_of_all: int
    ids_sha256: str
    """Hash of the ids of all rollouts, so that parts of another dataset do not fit."""
    numbers: tuple[int, ...]

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not there."""
        return sorted(set(range(1, self.of + 1)).difference(self.numbers))

    def in_words(self) -> str:
        """Which parts are missing, if any."""
        *others, last = map(str, self.missing)
        listed = f"shards {', '.join(others)} and {last}" if others else f"shard {last}"
        return f"{listed} of {self.of} {'are' if others else 'is'} missing ({self.rollouts_of_all} rollouts in all)"

    def to_json(self) -> Json:
        """As a merged run stores it."""
        return {**asdict(self), "numbers": list(self.numbers)}


def divisions(abouts: Iterable[Mapping[str, Any]]) -> list[Division]:
    """Every division that the runs are parts of, with all parts that are there."""
    found: dict[tuple[int, int, str], Division] = {}
    for about in abouts:
        for part in _parts(about):
            key = (part.of, part.rollouts_of_all, part.ids_sha256)
            known = found.get(key, part)
            found[key] = replace(known, numbers=tuple(sorted({*known.numbers, *part.numbers})))
    return [found[key] for key in sorted(found)]


def missing_shards(about: Mapping[str, Any]) -> list[str]:
    """The shards that a merged run lacks, in words; empty for a complete or an unmerged run."""
    if "merged" not in about:
        return []
    return [division.in_words() for division in divisions([about]) if division.missing]


def _parts(about: Mapping[str, Any]) -> Iterator[Division]:
    """The part of a shard, or all parts of a merged run."""
    try:
        if shard := about.get("shard"):
            yield Division(
                **{name: value for name, value in shard.items() if name != "number"}, numbers=(shard["number"],)
            )
        for merged in about.get("merged", {}).get("shards", []):
            yield Division(**{**merged, "numbers": tuple(merged["numbers"])})
    except (AttributeError, KeyError, TypeError) as error:
        raise RunError(
            f"The shard in run.json cannot be read ({error!r}). Run the same `lookaway eval` again."
        ) from error


def merge(runs: Sequence[Path | str], output: Path | str, *, partial: bool = False) -> Run:
    """Merge runs with the same lock into one: shards of a dataset, or runs of different models.

    Every measurement counts once. With `partial`, shards may be missing, and the merged run names them. Features and
    replies stay where they are. An existing output must be an earlier merge of the same runs.
    """
    out = RunFolder(as_path(output))
    folders = _in_order(runs)
    abouts = [folder.about() for folder in folders]
    lock = _common_lock(folders)
    if len({repr(about["metrics"]) for about in abouts}) > 1:
        raise UserError(
            "The runs list their metrics in different orders. Run the same `lookaway eval` for all of them."
        )
    rollouts = _all_rollouts(folders)
    about = {
        **_common_about(abouts),
        "rollouts": len(rollouts),
        "merged": {"runs": [str(folder.path) for folder in folders], "shards": _all_shards(abouts, partial=partial)},
    }
    _require_own(out, about, rollouts)
    with run_errors(f"{out.path}: the run cannot be written here"), sole_writer(out.path):
        locks = [folder.lock() for folder in folders]
        environments = tuple(entry for each in locks for entry in each.environments)
        code = tuple(entry for each in locks for entry in each.code)
        out.begin_with(Lock(lock.entries, environments, code=code), rollouts, about)
        written = set()
        for name, table in _merged_rows(folders):
            written.add(out.write_part(f"{COMPACT}{name}", table))
        remove_all(
            [part for part in out.parts() if part not in written]
        )  # from an earlier merge, before the runs had grown
        for name in (EVENTS, SPENDING):
            _join_journals(out, folders, name)
        _add_up_costs(out, folders)
    return Run(out.path)


def _in_order(runs: Sequence[Path | str]) -> list[RunFolder]:
    """The runs in a fixed order, whatever the order of the arguments."""
    paths = sorted((as_path(run) for run in runs), key=str)
    resolved = [path.resolve() for path in paths]
    for path in paths:
        if resolved.count(path.resolve()) > 1:
            raise UserError(f"{path}: named more than once. Name every run once.")
    if not paths:
        raise UserError("No runs to merge. Name at least one.")
    return [RunFolder(path) for path in paths]


def _common_lock(folders: Sequence[RunFolder]) -> Lock:
    first, lock = folders[0], folders[0].lock()
    for folder in folders[1:]:
        if shown := differences_in_words(lock, folder.lock()):
            raise UserError(
                f"{folder.path}: has another lock than {first.path}, so their numbers cannot be in one table. {shown}."
            )
    return lock


def _all_rollouts(folders: Sequence[RunFolder]) -> pa.Table:
    """Every rollout once, sorted by id."""
    rows = pa.concat_tables([folder.rollouts() for folder in folders])
    counts = rows.group_by("rollout").aggregate([("content", "count_distinct")])
    if len(twice := counts.filter(pc.greater(counts["content_count_distinct"], 1))):
        name = min(twice["rollout"].to_pylist())
        raise UserError(
            f"The rollout {name!r} is not the same in all runs: its video, another of its files, or its case differs. "
            "Run `lookaway eval` again where the dataset has changed."
        )
    rows = rows.append_column("place", pa.array(range(len(rows)), pa.int64()))
    firsts = rows.group_by("rollout").aggregate([("place", "min")])["place_min"]
    return rows.take(firsts).drop_columns("place").sort_by("rollout")


def _all_shards(abouts: Sequence[Mapping[str, Any]], *, partial: bool) -> Json:
    found = divisions(abouts)
    lacking = [division.in_words() for division in found if division.missing]
    if lacking and not partial:
        raise UserError(f"{'; '.join(lacking).capitalize()}. Name all runs, or merge without them with --partial.")
    return [division.to_json() for division in found]


def _common_about(abouts: Sequence[Mapping[str, Any]]) -> dict[str, Json]:
    """The `run.json` of the merged run, with the options that all runs share."""
    problems = {(problem["where"], problem["message"]): problem for about in abouts for problem in about["problems"]}
    versions = sorted({str(about["lookaway"]) for about in abouts if "lookaway" in about})
    return {
        **{name: abouts[0][name] for name in ("suite", "dataset", "lock_sha256", "metrics") if name in abouts[0]},
        **({"lookaway": ", ".join(versions)} if versions else {}),
        "problems": list(problems.values()),
        "requested": _common([about.get("requested", {}) for about in abouts]),
    }


def _common(mappings: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """The entries that all mappings have in common."""
    common: dict[str, Json] = {}
    for name, value in mappings[0].items():
        others = [entry.get(name) for entry in mappings[1:]]
        if isinstance(value, Mapping):
            common[name] = _common([value, *(other if isinstance(other, Mapping) else {} for other in others)])
        elif all(other == value for other in others):
            common[name] = value
    return common


def _require_own(out: RunFolder, about: Mapping[str, Json], rollouts: pa.Table) -> None:
    """Refuse a folder that holds anything but an earlier merge of the same runs."""
    if not is_file(out.path / "run.json") and not out.parts():
        return
    try:
        existing = out.about()
        is_own = all(existing.get(name) == about[name] for name in ("merged", "lock_sha256"))
        if is_own and out.rollouts().equals(rollouts):
            return
    except StorageError:
        raise
    except UserError:
        pass  # not a readable run, so not an earlier merge
    raise RunError(f"{out.path}: not empty, and not an earlier merge of these runs. Name another folder with --output.")


def _merged_rows(folders: Sequence[RunFolder]) -> Iterator[tuple[str, pa.Table]]:
    """Rows of all runs, in chunks that fit into memory, each with a unique name."""
    tables: list[pa.Table] = []
    hasher = hashlib.sha256()
    for part, content in _contents(folders):
        tables.append(read_rows(part, content))
        hasher.update(content)
        if sum(map(len, tables)) >= ROWS_AT_ONCE:
            yield hasher.hexdigest()[:32], each_measurement_once(tables)
            tables, hasher = [], hashlib.sha256()
    if tables:
        yield hasher.hexdigest()[:32], each_measurement_once(tables)


def _contents(folders: Sequence[RunFolder]) -> Iterator[tuple[Path, bytes]]:
    for folder in folders:
        parts = folder.parts()
        for start in range(0, len(parts), READ_AT_ONCE):
            some = parts[start : start + READ_AT_ONCE]
            try:
                yield from zip(some, read_all(some), strict=True)
            except FileNotFoundError as error:
                raise RunError(
                    f"{folder.path}: its files change while they are read. Merge it when its `lookaway eval` has ended."
                ) from error


def _join_journals(out: RunFolder, folders: Sequence[RunFolder], name: str) -> None:
    """Concatenate the journals; a repeated merge writes all of it again."""
    lines = chain.from_iterable(Journal(folder.path / name).lines() for folder in folders)
    if (first := next(lines, None)) is not None:
        every = chain([first], lines)
        write_whole(out.path / name, lambda file: file.writelines(seal_line(line) + b"\n" for line in every))


def _add_up_costs(out: RunFolder, folders: Sequence[RunFolder]) -> None:
    """Store the sessions of all runs, each once."""
    sessions = {session.id: session for folder in folders for session in read_run_costs(folder.path).sessions}
    if sessions:
        in_order = sorted(sessions.values(), key=lambda session: (session.started, session.id))
        write_json(out.path / COSTS, with_hash({"sessions": [session.to_json() for session in in_order]}))
