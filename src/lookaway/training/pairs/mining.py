"""Pairs of one case in which one rollout is better by enough, some of each case, in an order that favours no model."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from lookaway.core import Floats, Indices
from lookaway.training.pairs.judging import ROUNDING, Compared, JudgedAxis
from lookaway.training.pairs.run_columns import Flags, RunColumns

MAX_PARTNERS: Final = 256
"""A rollout is compared with so many others of its case at most, which bounds the work for cases with thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningRules:
    """Which pairs are taken."""

    margin: float = 1.0
    """How many smallest differences the better one must be better by."""
    min_confidence: float = 0.0
    """How sure it must be, where the card's spread says it."""
    per_case: int = 4
    """Pairs with a winner of one case and axis, and as many of equal ones."""
    same_model_only: bool = False
    max_wins: float = 1.0
    """Share of an axis and split that one model may win against others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairColumns:
    """Pairs on one axis; of equal ones, winner and loser are just two."""

    winners: Indices
    losers: Indices
    is_same: Flags
    margins: Floats
    chances: Floats | None
    """Chance that the winner is better; `None` where that is unknown."""
    counts: Counter[str] = field(default_factory=Counter)
    """Pairs by what became of them."""

    def __len__(self) -> int:
        return len(self.winners)

    def only(self, kept: Flags | Indices) -> PairColumns:
        """Some of the pairs."""
        return PairColumns(
            winners=self.winners[kept],
            losers=self.losers[kept],
            is_same=self.is_same[kept],
            margins=self.margins[kept],
            chances=None if self.chances is None else self.chances[kept],
            counts=self.counts,
        )

    def dropping(self, dropped: Flags, why: str) -> PairColumns:
        """Without some of the pairs, which are counted."""
        if dropped.any():
            self.counts[why] += int(np.count_nonzero(dropped))
        return self.only(~dropped)


def stable_order(columns: RunColumns) -> Indices:
    """A number for each rollout that depends on nothing but its name and content, and on neither in a plain way."""
    names = zip(columns.table["rollout"].to_pylist(), columns.table["content"].to_pylist(), strict=True)
    return np.array([stable_number(f"{rollout}\n{content}") for rollout, content in names], np.int64)


def stable_number(text: str) -> int:
    """The same on every machine and in every version.

    >>> stable_number("scene") == stable_number("scene") != stable_number("scenes")
    True
    """
    found = hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).digest()
    return int.from_bytes(found, "big") >> 1


def mine(columns: RunColumns, axis: JudgedAxis, is_usable: Flags, order: Indices, rules: MiningRules) -> PairColumns:
    """The pairs of one axis, among rollouts that are usable and judgeable."""
    place = np.flatnonzero(is_usable & axis.is_judgeable)
    place = place[np.lexsort((order[place], columns.cases[place]))]
    cases = columns.cases[place]
    wins, ties = (np.zeros(len(columns.case_names), np.int64) for _ in range(2))
    counts: Counter[str] = Counter()
    found: list[PairColumns] = []
    for distance in range(1, MAX_PARTNERS + 1):
        near = np.flatnonzero(cases[distance:] == cases[:-distance])
        if not len(near):
            break
        first, second = place[near], place[near + distance]
        pairs, is_win = _decide(columns, axis, first, second, rules, counts)
        chosen = [
            _first_of_each(columns.cases[pairs.winners], which, taken, rules.per_case)
            for which, taken in ((is_win, wins), (pairs.is_same, ties))
        ]
        found.append(pairs.only(np.sort(np.concatenate(chosen))))
        is_open = (wins < rules.per_case) | (axis.has_ties & (ties < rules.per_case))
        place = place[is_open[cases]]
        cases = columns.cases[place]
    return _joined(found, counts)


def _decide(
    columns: RunColumns, axis: JudgedAxis, first: Indices, second: Indices, rules: MiningRules, counts: Counter[str]
) -> tuple[PairColumns, Flags]:
    """The pairs with winners first, and which of them have one."""
    counts["compared"] += len(first)
    if rules.same_model_only:
        kept = columns.models[first] == columns.models[second]
        counts["of different models"] += int(np.count_nonzero(~kept))
        first, second = first[kept], second[kept]
    compared = axis.compare(first, second)
    is_better = compared.margins > 0
    needed = rules.margin if axis.has_margins else 1.0
    is_win = (np.abs(compared.margins) >= needed - ROUNDING) & ~compared.is_opposed & ~compared.is_same
    chances = None if compared.chances is None else np.where(is_better, compared.chances, 1 - compared.chances)
    is_sure = np.ones(len(first), np.bool_) if chances is None else chances >= rules.min_confidence
    _count(counts, compared, is_win, is_sure)
    pairs = PairColumns(
        winners=np.where(is_better, first, second),
        losers=np.where(is_better, second, first),
        is_same=compared.is_same & axis.has_ties,
        margins=np.abs(compared.margins),
        chances=chances,
    )
    return pairs, is_win & is_sure


def _count(counts: Counter[str], compared: Compared, is_win: Flags, is_sure: Flags) -> None:
    rest = ~is_win & ~compared.is_same
    counts["same"] += int(np.count_nonzero(compared.is_same))
    counts["opposed"] += int(np.count_nonzero(rest & compared.is_opposed))
    counts["below the margin"] += int(np.count_nonzero(rest & ~compared.is_opposed))
    counts["not sure enough"] += int(np.count_nonzero(is_win & ~is_sure))


def _first_of_each(cases: Indices, which: Flags, taken: Indices, limit: int) -> Indices:
    """The first of each case up to the limit, which `taken` counts; cases are in order."""
    place = np.flatnonzero(which)
    own = cases[place]
    number = np.arange(len(own)) - np.searchsorted(own, own, "left")
    kept = place[taken[own] + number < limit]
    taken += np.bincount(cases[kept], minlength=len(taken))
    return kept


def _joined(found: Sequence[PairColumns], counts: Counter[str]) -> PairColumns:
    if not found:
        nothing = np.zeros(0, np.int64)
        return PairColumns(
            winners=nothing, losers=nothing, is_same=nothing > 0, margins=nothing + 0.0, chances=None, counts=counts
        )
    chances = [pairs.chances for pairs in found]
    known = [chance for chance in chances if chance is not None]
    return PairColumns(
        winners=np.concatenate([pairs.winners for pairs in found]),
        losers=np.concatenate([pairs.losers for pairs in found]),
        is_same=np.concatenate([pairs.is_same for pairs in found]),
        margins=np.concatenate([pairs.margins for pairs in found]),
        chances=np.concatenate(known) if len(known) == len(chances) else None,
        counts=counts,
    )


def within_share(winners: Indices, losers: Indices, share: float) -> Flags:
    """Which pairs stay so that no model wins more than a share of those between different models.

    `winners` and `losers` are models. The first pairs of each model stay.

    >>> models = np.array([0, 0, 0, 1])
    >>> within_share(models, np.array([1, 1, 1, 0]), 0.5).tolist()
    [True, False, False, True]
    """
    differs = winners != losers
    wins = np.bincount(winners[differs])
    low, high = 0, int(wins.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        is_fair = middle <= share * int(np.minimum(wins, middle).sum()) + ROUNDING
        low, high = (middle, high) if is_fair else (low, middle - 1)
    place = np.flatnonzero(differs)
    place = place[np.argsort(winners[place], kind="stable")]
    number = np.arange(len(place)) - np.searchsorted(winners[place], winners[place], "left")
    kept: Flags = np.logical_not(differs)
    kept[place[number < low]] = True
    return kept
