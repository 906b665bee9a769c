"""Win ratios from people's votes on pairs of videos, and how often people tie or disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_replicates import SumStatistic, safe_divide

LEFT, TIE, RIGHT = 1, 0, -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """One vote in each row: columns, since there may be millions."""

    models: tuple[str, ...]
    left: Indices
    right: Indices
    """Indices of the two models, as they were shown."""
    verdicts: Indices
    """1 where left was better, -1 where right was, 0 for a tie."""
    pairs: Sequence[str]
    """Which two clips were compared; the same for all votes on the same clips, whichever was left."""
    scenes: Sequence[str]

    def __post_init__(self) -> None:
        columns = (self.left, self.right, self.verdicts, self.pairs, self.scenes)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"Columns of votes must have one length, found {[len(column) for column in columns]}.")
        if len(self.models) < 2 or len(set(self.models)) != len(self.models):
            raise ValueError(f"Expected two or more models with different names, found {list(self.models)}.")
        shown = np.concatenate([self.left, self.right])
        if np.any((shown < 0) | (shown >= len(self.models))) or np.any(self.left == self.right):
            raise ValueError(f"A vote must be between two different ones of the {len(self.models)} models.")
        if not np.isin(self.verdicts, (LEFT, TIE, RIGHT)).all():
            raise ValueError("A verdict must be 1 (left), 0 (tie) or -1 (right).")

    def __len__(self) -> int:
        return len(self.verdicts)

    def keep(self, rows: Indices) -> Votes:
        """The votes in some rows."""
        return Votes(
            models=self.models,
            left=self.left[rows],
            right=self.right[rows],
            verdicts=self.verdicts[rows],
            pairs=[self.pairs[row] for row in rows.tolist()],
            scenes=[self.scenes[row] for row in rows.tolist()],
        )


def model_columns(votes: Votes, model: int) -> Floats:
    """Whether each vote was won, tied or lost by a model [votes, 3]; a row of zeros where it was not shown."""
    side = (votes.left == model).astype(np.int64) - (votes.right == model)
    own = side * votes.verdicts
    return np.stack([own == 1, (side != 0) & (own == 0), own == -1], axis=1).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatio:
    """The votes on one model; ratios are `None` where there are no votes."""

    model: str
    wins: int
    ties: int
    losses: int
    ratio: Estimate | None
    """Wins plus half the ties, over all votes."""
    ties_excluded: Estimate | None
    """Wins over votes that were not ties: another question, and usually further from one half."""
    tie_rate: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdicts:
    """Majorities over pairs with two or more votes."""

    pairs: int
    decided: int
    """Pairs where more than half of the votes are for one model."""
    tied: int
    """Pairs where more than half of the votes are ties."""
    split: int
    """Pairs without a majority."""
    tie_rate: Estimate | None
    split_rate: Estimate | None
    ceiling: Estimate | None
    """How often a person agrees with the majority of the others on the pair, where there is one."""


def win_ratios(votes: Votes, weights: Floats | None = None) -> tuple[WinRatio, ...]:
    """The win ratio of every model, with intervals where weights [replicates, scenes] are given."""
    return tuple(_win_ratio(votes, model, weights) for model in range(len(votes.models)))


def pair_verdicts(votes: Votes, weights: Floats | None = None) -> PairVerdicts:
    """How many pairs of clips have a majority, and how well people predict each other."""
    _, first, pair = np.unique(np.asarray(votes.pairs, np.str_), return_index=True, return_inverse=True)
    one, other = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    scenes = np.asarray(votes.scenes, np.str_)
    if not all(np.array_equal(column, column[first][pair]) for column in (one, other, scenes)):
        raise ValueError("All votes on a pair must be about the same two models and the same scene.")
    said = np.where(votes.left == one, votes.verdicts, -votes.verdicts)
    ballots = np.zeros((len(first), 3), np.int64)
    np.add.at(ballots, (pair, 1 - said), 1)
    count = ballots.sum(axis=1)
    major = 2 * ballots > count[:, None]
    several = count >= 2
    kinds = np.stack([major[:, 0] | major[:, 2], major[:, 1], ~major.any(axis=1)], axis=1)[several]
    columns = np.column_stack([kinds, np.ones(len(kinds))]).astype(np.float64)
    rates = [_share(columns, place).estimate(scenes[first][several].tolist(), weights) for place in (1, 2)]
    decided, tied, split = (int(number) for number in kinds.sum(axis=0))
    return PairVerdicts(
        pairs=len(kinds),
        decided=decided,
        tied=tied,
        split=split,
        tie_rate=rates[0],
        split_rate=rates[1],
        ceiling=_ceiling(ballots[pair], 1 - said, votes, weights),
    )


def _win_ratio(votes: Votes, model: int, weights: Floats | None) -> WinRatio:
    columns = model_columns(votes, model)
    wins, ties, losses = (int(number) for number in columns.sum(axis=0))

    def estimate(gain: Floats, of: Floats, scored: int) -> Estimate | None:
        statistic = SumStatistic(columns, lambda sums: safe_divide(sums @ gain, sums @ of))
        return statistic.estimate(votes.scenes, weights, scored=scored)

    everything, decided = np.ones(3), np.array([1.0, 0.0, 1.0])
    return WinRatio(
        model=votes.models[model],
        wins=wins,
        ties=ties,
        losses=losses,
        ratio=estimate(np.array([1.0, 0.5, 0.0]), everything, wins + ties + losses),
        ties_excluded=estimate(np.array([1.0, 0.0, 0.0]), decided, wins + losses),
        tie_rate=estimate(np.array([0.0, 1.0, 0.0]), everything, wins + ties + losses),
    )


def _ceiling(ballots: Indices, said: Indices, votes: Votes, weights: Floats | None) -> Estimate | None:
    others = ballots.copy()
    others[np.arange(len(said)), said] -= 1
    major = 2 * others > others.sum(axis=1, keepdims=True)
    clear = major.any(axis=1)
    right = major[np.arange(len(said)), said]
    columns = np.stack([right, clear], axis=1).astype(np.float64)
    return _share(columns, 0).estimate(votes.scenes, weights, scored=int(clear.sum()))


def _share(columns: Floats, place: int) -> SumStatistic:
    """The sum of one column over that of the last one."""
    return SumStatistic(columns, lambda sums: safe_divide(sums[:, place], sums[:, -1]))
