"""Which parts of a divided dataset some runs hold, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from lookaway.core import Json, RunError


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A dataset in so many parts, and those of them that are there."""

    of: int
    rollouts_of_all: int
    ids_sha256: str
    """Of the ids of all rollouts: parts of another dataset do not fit."""
    numbers: tuple[int, ...]

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not there."""
        return sorted(set(range(1, self.of + 1)).difference(self.numbers))

    def in_words(self) -> str:
        """What is missing, where anything is."""
        *others, last = map(str, self.missing)
        listed = f"shards {', '.join(others)} and {last}" if others else f"shard {last}"
        return f"{listed} of {self.of} {'are' if others else 'is'} missing ({self.rollouts_of_all} rollouts in all)"

    def to_json(self) -> Json:
        """As a merged run keeps it."""
        return {**asdict(self), "numbers": list(self.numbers)}


def divisions(abouts: Iterable[Mapping[str, Any]]) -> list[Division]:
    """Every division that runs are parts of, with all the parts that they hold together."""
    found: dict[tuple[int, int, str], Division] = {}
    for about in abouts:
        for part in _parts(about):
            key = (part.of, part.rollouts_of_all, part.ids_sha256)
            known = found.get(key, part)
            found[key] = replace(known, numbers=tuple(sorted({*known.numbers, *part.numbers})))
    return [found[key] for key in sorted(found)]


def missing_shards(about: Mapping[str, Any]) -> list[str]:
    """What a merged run lacks, in words; nothing where all was there, or nothing was merged."""
    if "merged" not in about:
        return []
    return [division.in_words() for division in divisions([about]) if division.missing]


def _parts(about: Mapping[str, Any]) -> Iterator[Division]:
    """Of a shard one, of a merged run all that it was merged from."""
    try:
        if shard := about.get("shard"):
            yield Division(
                **{name: value for name, value in shard.items() if name != "number"}, numbers=(shard["number"],)
            )
        for merged in about.get("merged", {}).get("shards", []):
            yield Division(**{**merged, "numbers": tuple(merged["numbers"])})
    except (AttributeError, KeyError, TypeError) as error:
        raise RunError(
            f"A run does not say which shard it is ({error!r}). Run the same `lookaway eval` again."
        ) from error
