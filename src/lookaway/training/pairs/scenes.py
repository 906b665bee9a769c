"""Splits by scene, and scenes that are never exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.compute as pc

from lookaway.core import Indices, UnknownName, UserError
from lookaway.training.pairs.mining import stable_number
from lookaway.training.pairs.run_columns import Flags, RunColumns

SPLITS: Final[Mapping[str, float]] = {"train": 0.8, "val": 0.1, "test": 0.1}
MAX_LIST_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneRules:
    """Where scenes go."""

    splits: Mapping[str, float] = field(default_factory=lambda: dict(SPLITS))
    """Shares of the scenes by name of the split."""
    held_out: frozenset[str] = frozenset()
    """Scenes that are never exported, such as those of a leaderboard."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the splits."""
        return tuple(self.splits)


def parse_splits(text: str) -> dict[str, float]:
    """Shares by name of the split.

    >>> parse_splits("train=0.9,val=0.1")
    {'train': 0.9, 'val': 0.1}
    """
    wrong = UserError(
        f"--splits {text}: expected names and shares that add up to 1, such as train=0.8,val=0.1,test=0.1."
    )
    found: dict[str, float] = {}
    for part in text.split(","):
        name, sign, share = (piece.strip() for piece in part.partition("="))
        if not (sign and name.isidentifier() and name.isascii()) or name in found:
            raise wrong
        try:
            found[name] = float(share)
        except ValueError as error:
            raise wrong from error
    if not all(0 < share <= 1 for share in found.values()) or abs(sum(found.values()) - 1) > 1e-6:
        raise wrong
    return found


def read_held_out(given: Sequence[str], known: Sequence[str]) -> frozenset[str]:
    """Scenes to hold out: names, or files with a name in each line.

    A name that no run has is refused, since it may be misspelled; a file may list scenes that no run has.
    """
    held: set[str] = set()
    scenes = set(known)
    for text in given:
        path = Path(text)
        if text in scenes:
            held.add(text)
        elif path.is_file():
            held |= _listed(path)
        else:
            raise UnknownName("scene, or file of scenes, for --held-out", text, scenes)
    return frozenset(held)


def _listed(path: Path) -> set[str]:
    if path.stat().st_size > MAX_LIST_BYTES:
        raise UserError(f"{path}: larger than 16 MB, expected a list of scenes with a name in each line.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not text in UTF-8 ({error}). Expected a list of scenes with a name in each line."
        ) from error
    names = {line.strip() for line in lines if line.strip()}
    if not names:
        raise UserError(f"{path}: lists no scene. Expected a name in each line.")
    return names


def split_scenes(scenes: Sequence[str], rules: SceneRules) -> Indices:
    """Number of the split of each scene, by its name alone, so that it is the same in every set; -1 is held out."""
    ends = np.cumsum(list(rules.splits.values()))
    shares = np.array([stable_number(f"split\n{scene}") / 2**63 for scene in scenes])
    found = np.minimum(np.searchsorted(ends, shares, "right"), len(ends) - 1).astype(np.int64)
    found[[scene in rules.held_out for scene in scenes]] = -1
    return found


def shared_between_scenes(columns: RunColumns) -> Flags:
    """Rollouts whose video file another scene has too: they would be in two splits."""
    encoded = pc.dictionary_encode(columns.table["video"].combine_chunks())
    return in_several(encoded.indices.to_numpy(), columns.scenes)


def in_several(things: Indices, scenes: Indices) -> Flags:
    """Which entries are of a thing that occurs in more than one scene.

    >>> in_several(np.array([0, 0, 1, 1]), np.array([5, 5, 5, 6])).tolist()
    [False, False, True, True]
    """
    size = int(things.max(initial=-1)) + 1
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -1)
    np.minimum.at(low, things, scenes)
    np.maximum.at(high, things, scenes)
    found: Flags = low[things] != high[things]
    return found
