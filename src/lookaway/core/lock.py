"""The lock: everything that can change a number, as canonical JSON with a SHA-256."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""None, bool, int, float, str, and lists and string-keyed mappings of these."""

SHA256, ENVIRONMENTS, CARDS, CODE = "sha256", "environments", "cards", "code"
"""What a `lock.json` has beside the entries that are hashed."""


def describe(value: object) -> Json:
    """A frozen dataclass with all its fields as JSON, so that no constant is missing from the lock.

    A class may name constants of formulas that it shares with others, as `module:NAME` in `constants`.

    >>> @dataclass(frozen=True)
    ... class Sharpness:
    ...     window_pixels: int = 7
    >>> describe(Sharpness())
    {'kind': 'Sharpness', 'window_pixels': 7}
    """
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return describe(value.value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"A lock holds finite numbers only, found {value!r}.")
        return value
    if isinstance(value, tuple | list):
        return [describe(entry) for entry in value]
    if isinstance(value, Mapping):
        return {_text_key(key): describe(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _describe_dataclass(value)
    raise TypeError(
        f"{type(value).__name__} cannot be locked: use frozen dataclasses of numbers, text, tuples and mappings."
    )


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"The keys of a lock are text, found {key!r}.")
    return key


def _describe_dataclass(value: Any) -> dict[str, Json]:
    described: dict[str, Json] = {"kind": getattr(value, "name", type(value).__name__)}
    if (version := getattr(value, "version", None)) is not None:
        described["version"] = version
    for entry in dataclasses.fields(value):
        described[entry.name] = describe(getattr(value, entry.name))
    return described | {name: describe(number) for name, _, number in shared_constants(value)}


def shared_constants(value: object) -> Iterator[tuple[str, str, object]]:
    """Name, module and value of the constants that a class names in `constants`."""
    for place in getattr(type(value), "constants", ()):
        module, _, name = place.partition(":")
        yield name, module, getattr(import_module(module), name)


def canonical_json(value: Json) -> str:
    """JSON with one spelling per value: sorted keys, no spaces, no NaN.

    >>> canonical_json({"b": 1.0, "a": [True, None]})
    '{"a":[true,null],"b":1.0}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Json) -> str:
    """SHA-256 of the canonical JSON, as hexadecimal text."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Lock:
    """Everything that can change the numbers of one run.

    >>> Lock({"tau": 10}).sha256 == Lock({"tau": 10}).sha256
    True
    >>> list(Lock({"metric": {"tau": 10}}).differences(Lock({"metric": {"tau": 12}})))
    [('metric.tau', 10, 12)]
    """

    entries: Mapping[str, Json]
    environments: tuple[Mapping[str, Json], ...] = field(default=(), compare=False)
    """Libraries, instruction sets and kernels that measured, which may move a number by a little; not hashed."""
    cards: Mapping[str, str] | None = field(default=None, compare=False)
    """Hash of the card of each metric that has one: it explains a number and moves none, so it is not hashed either.

    `None` where no cards were looked for.
    """
    code: tuple[Mapping[str, Json], ...] = field(default=(), compare=False)
    """Each code that measured: its `version`, and under `metrics` a fingerprint of the modules that computed each.

    Not hashed, so that a release and a checkout with the same constants have the same lock. Empty in an older run.
    """

    @property
    def sha256(self) -> str:
        """The hash of the lock."""
        return digest(self.entries)

    def to_json(self) -> dict[str, Json]:
        """The content of a `lock.json`: the entries with their hash, each environment and code with its own, cards."""
        beside = {ENVIRONMENTS: self.environments, CODE: self.code}
        hashed = {
            name: [{**e, SHA256: digest(dict(e))} for e in entries] for name, entries in beside.items() if entries
        }
        cards = {} if self.cards is None else {CARDS: dict(self.cards)}
        return {**self.entries, SHA256: self.sha256, **hashed, **cards}

    def with_code(self, code: Mapping[str, Json]) -> Lock:
        """With one more code that measured; one of the same version that differs in no metric becomes one with it."""
        for place, known in enumerate(self.code):
            metrics = {**known["metrics"], **code["metrics"]}
            if known["version"] == code["version"] and all(
                metrics[name] == own for name, own in known["metrics"].items()
            ):
                joined = {"version": known["version"], "metrics": dict(sorted(metrics.items()))}
                return replace(self, code=(*self.code[:place], joined, *self.code[place + 1 :]))
        return replace(self, code=(*self.code, code))

    def differences(self, other: Lock) -> Iterator[tuple[str, Json, Json]]:
        """Dotted path and both values of every difference between two locks."""
        yield from _differences("", self.entries, other.entries)


def _differences(path: str, ours: Json, theirs: Json) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in sorted({*ours, *theirs}):
            place = f"{path}.{key}" if path else key
            if key in ours and key in theirs:
                yield from _differences(place, ours[key], theirs[key])
            else:
                yield place, ours.get(key), theirs.get(key)
    elif canonical_json(ours) != canonical_json(theirs):  # 1 and 1.0 are equal, but not to a hash
        yield path, ours, theirs
