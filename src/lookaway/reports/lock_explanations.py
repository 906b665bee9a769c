"""Entries of locks that could explain why two numbers of a metric differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lookaway.core import Json, Lock, UserError
from lookaway.io.files import read_json
from lookaway.store.run_folder import parse_lock

SHARED = ("suite", "dataset")


def read_lock(path: Path) -> Lock:
    """The `lock.json` of another run; its content must match its hash."""
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("metrics"), dict):
        raise UserError(f"{path}: not a lock; expected the lock.json of a run, an object with `metrics`.")
    return parse_lock(content, path)


def lock_differences(ours: Lock, theirs: Lock, metrics: Sequence[str]) -> list[tuple[str, Json, Json]]:
    """Dotted path, our value and theirs wherever the locks differ in what concerns these metrics."""
    return list(_part(ours, metrics).differences(_part(theirs, metrics)))


def locked_constants(lock: Lock, metrics: Sequence[str]) -> list[tuple[str, Json]]:
    """Dotted path and value of every constant of these metrics, their recipes and their software."""
    return list(_leaves("", _part(lock, metrics).entries["metrics"]))


def _part(lock: Lock, metrics: Sequence[str]) -> Lock:
    known = lock.entries.get("metrics", {})
    shared = {name: lock.entries[name] for name in SHARED if name in lock.entries}
    return Lock({**shared, "metrics": {name: known[name] for name in metrics if name in known}})


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, entry in value.items():
        yield from _leaves(f"{path}.{key}" if path else key, entry)
