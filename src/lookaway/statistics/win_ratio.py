"""How often a model was preferred, and how often people could not tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.scene_replicates import SumStatistic, quotient
from lookaway.statistics.votes import Votes, model_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRatio:
    """The votes of one model; ratios are `None` where there is nothing to divide by."""

    model: str
    wins: int
    ties: int
    losses: int
    ratio: Estimate | None
    """Wins and half of the ties, of all votes."""
    ties_excluded: Estimate | None
    """Wins of the votes that were no ties: another question, and usually further from a half."""
    tie_rate: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdicts:
    """What a majority would make of pairs that two or more people voted on: how much it would throw away."""

    pairs: int
    decided: int
    """Pairs for whose one model more than half of the people voted."""
    tied: int
    """Pairs that more than half of the people called a tie."""
    split: int
    """Pairs without any majority."""
    tie_rate: Estimate | None
    split_rate: Estimate | None
    ceiling: Estimate | None
    """How often a person says what most of the other people said of the pair, where most of them said the same."""


def win_ratios(votes: Votes, weights: Floats | None = None) -> tuple[WinRatio, ...]:
    """The win ratio of every model, with intervals where weights [replicates, scenes] are given."""
    return tuple(_win_ratio(votes, model, weights) for model in range(len(votes.models)))


def pair_verdicts(votes: Votes, weights: Floats | None = None) -> PairVerdicts:
    """How many pairs of clips have a majority, and how well people foretell each other."""
    _, first, pair = np.unique(np.asarray(votes.pairs, np.str_), return_index=True, return_inverse=True)
    one, other = np.minimum(votes.left, votes.right), np.maximum(votes.left, votes.right)
    scenes = np.asarray(votes.scenes, np.str_)
    if not all(np.array_equal(column, column[first][pair]) for column in (one, other, scenes)):
        raise ValueError("All votes on a pair are about the same two models and the same scene.")
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
        statistic = SumStatistic(columns, lambda sums: quotient(sums @ gain, sums @ of))
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
    """The share that the column at a place has of the last one."""
    return SumStatistic(columns, lambda sums: quotient(sums[:, place], sums[:, -1]))
