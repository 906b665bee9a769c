"""The table of preferences: one row for each pair and axis, with sides A and B that say nothing about who wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lookaway.core import Floats, Indices
from lookaway.training.pairs.described import Described, relative_paths
from lookaway.training.pairs.judging import JudgedAxis
from lookaway.training.pairs.mining import PairColumns
from lookaway.training.pairs.run_columns import Flags, RunColumns

PREFERENCES: Final = "preferences.parquet"
A, B, SAME, INVALID = "A", "B", "same", "invalid"
ROWS_AT_ONCE: Final = 50_000
NO_PROMPT, UNCHECKED = "no_prompt", "files_not_checked"

SCHEMA: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("pair_id", "axis", "scene_id", "item_id", "prompt")),
        (
            "condition",
            pa.struct([("first_frame", pa.string()), ("actions", pa.list_(pa.string())), ("camera", pa.string())]),
        ),
        *(
            (f"{name}_{side}", pa.string())
            for name in ("video", "sha", "model", "seed")
            for side in ("a", "b")
        ),
        *(
            (f"{name}_{side}", kind)
            for side in ("a", "b")
            for name, kind in (("fps", pa.float64()), ("num_frames", pa.int32()))
        ),
        ("label", pa.string()),
        *((name, pa.int32()) for name in ("n_votes", "votes_a", "votes_b", "votes_tie")),
        *((name, pa.float64()) for name in ("p_a", "confidence", "margin")),
        ("source", pa.string()),
        ("judgeable_a", pa.bool_()),
        ("judgeable_b", pa.bool_()),
        ("split", pa.string()),
        ("flags", pa.list_(pa.string())),
        ("protocol_sha256", pa.string()),
    ]
)  # fmt: skip
"""Votes are empty: they are for pairs that people judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """All pairs of all axes, in the order in which they are written."""

    axes: tuple[JudgedAxis, ...]
    axis: Indices
    side_a: Indices
    side_b: Indices
    pair: Indices
    """Number of the pair of each row; its rows follow one another."""
    wins_a: Flags
    is_same: Flags
    margins: Floats
    chances_a: Floats
    """Chance that A is better, where `is_sure_known`."""
    is_sure_known: Flags
    split: Indices

    def __len__(self) -> int:
        return len(self.axis)

    @property
    def winners(self) -> Indices:
        """The better side of each row; A where they are equal."""
        return np.where(self.wins_a | self.is_same, self.side_a, self.side_b)


def arrange(
    columns: RunColumns, axes: Sequence[JudgedAxis], found: Sequence[PairColumns], splits: Indices, order: Indices
) -> Preferences:
    """Put the pairs of all axes in one order, and choose the sides.

    The first axis on which a pair has a winner decides its sides: of the pairs of a split, every other winner is A.
    """
    axis = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
    winners, losers, is_same, margins = (
        np.concatenate([getattr(pairs, name) for pairs in found] or [np.zeros(0, np.int64)])
        for name in ("winners", "losers", "is_same", "margins")
    )
    is_known = np.repeat([pairs.chances is not None for pairs in found], [len(pairs) for pairs in found])
    chances = np.concatenate(
        [np.full(len(pairs), 0.5) if pairs.chances is None else pairs.chances for pairs in found] or [np.zeros(0)]
    )
    low, high = np.minimum(winners, losers), np.maximum(winners, losers)
    _, firsts, pair = np.unique(low * max(1, len(columns)) + high, return_index=True, return_inverse=True)
    mixed = order[low] ^ order[high]
    split = splits[columns.scenes[winners]]
    swaps = _sides(axis, is_same, pair, split, mixed, len(firsts))
    # The side of a pair is that of its first decided row; another axis may have the other winner.
    lead = _lead(axis, is_same, pair, len(firsts))
    side_a = np.where(swaps[pair], losers[lead][pair], winners[lead][pair])
    side_b = np.where(swaps[pair], winners[lead][pair], losers[lead][pair])
    wins_a = side_a == winners
    rank = np.lexsort((axis, pair, mixed, split))
    return Preferences(
        axes=tuple(axes),
        axis=axis[rank],
        side_a=side_a[rank],
        side_b=side_b[rank],
        pair=pair[rank],
        wins_a=(wins_a & ~is_same)[rank],
        is_same=is_same.astype(np.bool_)[rank],
        margins=margins[rank],
        chances_a=np.where(wins_a, chances, 1 - chances)[rank],
        is_sure_known=is_known.astype(np.bool_)[rank],
        split=split[rank],
    )


def _lead(axis: Indices, is_same: Flags, pair: Indices, count: int) -> Indices:
    """The row that decides the sides of each pair: the first with a winner, else the first."""
    order = np.lexsort((axis, is_same, pair))
    lead = np.zeros(count, np.int64)
    lead[pair[order][::-1]] = order[::-1]
    return lead


def _sides(axis: Indices, is_same: Flags, pair: Indices, split: Indices, mixed: Indices, count: int) -> Flags:
    """For each pair, whether the better one of its leading row is B."""
    lead = _lead(axis, is_same, pair, count)
    group = (split[lead] + 1) * (int(axis.max(initial=0)) + 1) + axis[lead]
    group = group * 2 + is_same[lead]
    order = np.lexsort((mixed[lead], group))
    number = np.arange(count) - np.searchsorted(group[order], group[order], "left")
    swaps = np.zeros(count, np.bool_)
    swaps[order] = number % 2 == 1
    return swaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How rollouts, splits and files are named in the table."""

    ids: pa.Array
    """A name of each rollout that depends on nothing but itself."""
    splits: Sequence[str]
    root: Path | None
    """Paths are relative to it; `None` leaves them as they are in the runs."""


def batches(columns: RunColumns, preferences: Preferences, described: Described, naming: Naming) -> Iterator[pa.Table]:
    """The rows as tables; all rows of a pair are in one of them."""
    start = 0
    while start < len(preferences):
        stop = min(start + ROWS_AT_ONCE, len(preferences))
        while stop < len(preferences) and preferences.pair[stop] == preferences.pair[stop - 1]:
            stop += 1
        yield _batch(columns, preferences, described, naming, slice(start, stop))
        start = stop


def _batch(
    columns: RunColumns, preferences: Preferences, described: Described, naming: Naming, part: slice
) -> pa.Table:
    a, b = preferences.side_a[part], preferences.side_b[part]
    count = len(a)
    axes = [preferences.axes[number] for number in preferences.axis[part].tolist()]
    same, wins_a = preferences.is_same[part], preferences.wins_a[part]
    has_margin = np.array([axis.has_margins for axis in axes], np.bool_)
    known = preferences.is_sure_known[part]
    chances = preferences.chances_a[part]
    prompts, conditions = _conditions(columns, described, a)
    flags = [[] if prompt else [NO_PROMPT] for prompt in prompts] if described.is_read else [[UNCHECKED]] * count
    own = {side: columns.table.take(pa.array(place)) for side, place in (("a", a), ("b", b))}
    ids = [naming.ids.take(pa.array(place)) for place in (np.minimum(a, b), np.maximum(a, b))]
    sides: dict[str, Any] = {}
    for side, place in (("a", a), ("b", b)):
        sides |= _side(own[side], side, place, described, naming.root)
    nothing = pa.nulls(count, pa.int32())
    found = {
        "pair_id": pc.binary_join_element_wise(*ids, ""),
        "axis": pa.array([axis.name for axis in axes]),
        "scene_id": own["a"]["scene"],
        "item_id": own["a"]["case"],
        "prompt": pa.array(prompts, pa.string()),
        "condition": pa.array(conditions, SCHEMA.field("condition").type),
        **sides,
        "label": pa.array(np.where(same, SAME, np.where(wins_a, A, B)), pa.string()),
        **dict.fromkeys(("n_votes", "votes_a", "votes_b", "votes_tie"), nothing),
        "p_a": pa.array(chances, mask=~known),
        "confidence": pa.array(np.maximum(chances, 1 - chances), mask=~known),
        "margin": pa.array(preferences.margins[part], mask=~has_margin),
        "source": pa.array([axis.source for axis in axes]),
        "judgeable_a": pa.array(_judgeable(axes, a)),
        "judgeable_b": pa.array(_judgeable(axes, b)),
        "split": pa.array([naming.splits[number] for number in preferences.split[part].tolist()]),
        "flags": pa.array(flags, SCHEMA.field("flags").type),
        "protocol_sha256": pa.array([axis.protocol_sha256 for axis in axes]),
    }
    return pa.table({name: found[name] for name in SCHEMA.names}, SCHEMA)


def _judgeable(axes: Sequence[JudgedAxis], places: Indices) -> list[bool]:
    return [bool(axis.is_judgeable[place]) for axis, place in zip(axes, places.tolist(), strict=True)]


def _side(own: pa.Table, side: str, places: Indices, described: Described, root: Path | None) -> dict[str, Any]:
    facts = [described.videos.get(place) for place in places.tolist()] if described.is_read else [None] * len(own)
    paths = own["video"] if root is None else pa.array(relative_paths(own["video"].to_pylist(), root))
    hashes = own["content"] if not described.is_read else pa.array([fact and fact.sha256 for fact in facts])
    return {
        f"video_{side}": paths,
        f"sha_{side}": hashes,
        f"model_{side}": own["model"],
        f"seed_{side}": own["seed"],
        f"fps_{side}": pa.array([fact and fact.fps for fact in facts], pa.float64()),
        f"num_frames_{side}": pa.array([fact and fact.frames for fact in facts], pa.int32()),
    }


def _conditions(columns: RunColumns, described: Described, places: Indices) -> tuple[list[str], list[Any]]:
    if not described.is_read:
        return [""] * len(places), [None] * len(places)
    texts = [described.cases.get(case) for case in columns.cases[places].tolist()]
    prompts = [text.prompt if text else "" for text in texts]
    conditions = [
        text and {"first_frame": text.first_frame, "actions": text.actions, "camera": text.camera} for text in texts
    ]
    return prompts, conditions
