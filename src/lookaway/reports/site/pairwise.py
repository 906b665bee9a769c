"""Every two models of a board on the cases that both have: how far apart, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lookaway.reports.leaderboards import Leaderboard, Row
from lookaway.statistics.paired_difference import CaseValues, PairedDifference, false_discovery, paired_difference

LARGEST_Q = 0.05
"""Above it two models cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The first model minus the second."""

    found: PairedDifference
    q: float
    is_apart: bool
    is_first_better: bool | None
    """`None` where better has no direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """All pairs of a board; the models in its order."""

    leaderboard: Leaderboard
    models: tuple[str, ...]
    pairs: Mapping[tuple[int, int], Pair | None]
    """By the places of two models, the earlier first; `None` where no case has values of both."""
    family: int
    """How many tests the q-values account for."""

    @property
    def told_apart(self) -> int:
        """How many pairs can be told apart."""
        return sum(pair is not None and pair.is_apart for pair in self.pairs.values())


def matrix(leaderboard: Leaderboard) -> Matrix | None:
    """The comparison of all models of a board that can be compared; `None` where there are not two."""
    rows = leaderboard.comparable
    if len(rows) < 2:
        return None
    values = [_case_values(row) for row in rows]
    places = [(one, other) for one in range(len(rows)) for other in range(one + 1, len(rows))]
    found = [paired_difference(values[one], values[other]) for one, other in places]
    q_values = false_discovery([entry.sign_flip.p if entry else None for entry in found])
    pairs = {
        place: None if entry is None or q is None else _pair(entry, q, leaderboard.metric.higher_is_better)
        for place, entry, q in zip(places, found, q_values.q, strict=True)
    }
    return Matrix(leaderboard=leaderboard, models=tuple(row.model for row in rows), pairs=pairs, family=q_values.family)


def _case_values(row: Row) -> CaseValues:
    return CaseValues(values=row.values.values, cases=row.values.cases, scenes=row.values.scenes)


def _pair(found: PairedDifference, q: float, higher_is_better: bool | None) -> Pair:
    is_better = None if higher_is_better is None else (found.difference.mean > 0) == higher_is_better
    return Pair(found=found, q=q, is_apart=q < LARGEST_Q, is_first_better=is_better)
