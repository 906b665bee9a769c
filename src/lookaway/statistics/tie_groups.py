"""Models that cannot be told apart from the best of their group."""

from __future__ import annotations

from lookaway.statistics.rank_range import RankRanges


def tie_groups(ranking: RankRanges) -> tuple[tuple[int, ...], ...]:
    """Every model with values in one group, the best group first, and the best mean first in each.

    The best model that is in no group yet leads the next one; with it go all the others that are in no group yet and
    that it does not beat. Two models of a group need not be alike: each is only not told apart from their leader.
    """
    groups = []
    left = list(ranking.order)
    while left:
        beaten = ranking.beats[left[0]]
        groups.append(tuple(model for model in left if model not in beaten))
        left = [model for model in left if model in beaten]
    return tuple(groups)
