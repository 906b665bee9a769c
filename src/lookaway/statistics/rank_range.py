"""Simultaneous confidence ranges of ranks, for all models of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices
from lookaway.statistics.scene_bootstrap import DRAWS, SEED, SceneSums, scene_weights

MIN_SCENES_DRAWN = 20
"""With fewer scenes, draws do not show how differences correlate; the threshold is Bonferroni's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRange:
    """The best and the worst rank that a model may have; 1 is best."""

    best: int
    worst: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRanges:
    """The ranges of all models, and which differences are significant."""

    ranges: tuple[RankRange | None, ...]
    """`None` for a model without values."""
    order: tuple[int, ...]
    """Models with values, best mean first; equal ones in the given order."""
    beats: tuple[frozenset[int], ...]
    """For each model, those that it is significantly better than."""
    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Pairs:
    """All pairs of models: the first minus the second."""

    first: Indices
    second: Indices
    differences: Floats
    spreads: Floats
    """Standard deviation of each difference over draws of scenes."""
    supports: Indices
    """Scenes of the model with fewer."""
    rounding: float
    """Differences below this are rounding errors."""


def rank_ranges(
    sums: SceneSums,
    *,
    higher_is_better: bool,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = SEED,
    tells_apart: Callable[[float, int], bool] | None = None,
) -> RankRanges:
    """Ranges that cover the true ranks of all models together, for one metric; sums are [models, scenes].

    Scenes are resampled for all pairwise differences at once, and the quantile of the largest |difference| / error of a
    draw is the threshold of significance. The best rank of a model is 1 + the number of significantly better models,
    its worst rank is the number of models - the number of significantly worse ones.

    `tells_apart` says whether the metric can show a difference of means over a number of scenes; what it cannot show is
    not significant.
    """
    known = np.flatnonzero(sums.counts.sum(-1) > 0)
    known_sums = sums.of(known)
    means = known_sums.sums.sum(-1) / known_sums.counts.sum(-1)
    goodness = means if higher_is_better else -means
    influences = (known_sums.sums - means[:, None] * known_sums.counts) / known_sums.counts.sum(-1, keepdims=True)
    pairs = _pairs(goodness, influences, known_sums.scenes)
    weights = scene_weights(influences.shape[-1], draws=draws, seed=seed)
    counts = _are_significant(pairs, weights @ influences.T, level)
    if tells_apart is not None:
        differences = zip(pairs.differences.tolist(), pairs.supports.tolist(), strict=True)
        counts &= np.array([tells_apart(difference, scenes) for difference, scenes in differences], np.bool_)
    beats = np.zeros((len(known), len(known)), np.bool_)
    beats[pairs.first, pairs.second] = counts & (pairs.differences > 0)
    beats[pairs.second, pairs.first] = counts & (pairs.differences < 0)
    ranges: list[RankRange | None] = [None] * len(sums.counts)
    beaten: list[frozenset[int]] = [frozenset()] * len(sums.counts)
    for place, model in enumerate(known.tolist()):
        better, worse = int(beats[:, place].sum()), int(beats[place].sum())
        ranges[model] = RankRange(best=1 + better, worst=len(known) - worse)
        beaten[model] = frozenset(known[beats[place]].tolist())
    order = known[np.argsort(-goodness, kind="stable")]
    return RankRanges(ranges=tuple(ranges), order=tuple(order.tolist()), beats=tuple(beaten), draws=draws, seed=seed)


def _pairs(goodness: Floats, influences: Floats, scenes: Indices) -> _Pairs:
    first, second = np.triu_indices(len(goodness), 1)
    return _Pairs(
        first=first,
        second=second,
        differences=goodness[first] - goodness[second],
        spreads=np.sqrt(np.sum((influences[first] - influences[second]) ** 2, axis=-1)),
        supports=np.minimum(scenes[first], scenes[second]),
        rounding=1e-12 * float(np.max(np.abs(goodness), initial=0.0)),
    )


def _are_significant(pairs: _Pairs, moves: Floats, level: float) -> NDArray[np.bool_]:
    """Which differences are significant, given the change of each model in each draw, [draws, models].

    All pairs share one tail probability; the threshold of each is the t with this tail for its number of scenes.
    """
    from scipy.special import ndtr, stdtrit

    varies = pairs.spreads > 0
    drawn = np.abs(moves[:, pairs.first[varies]] - moves[:, pairs.second[varies]]) / pairs.spreads[varies]
    threshold = np.quantile(drawn.max(axis=-1, initial=0.0), level)
    bonferroni = (1 - level) / 2 / max(1, len(pairs.spreads))
    tails = np.where(pairs.supports < MIN_SCENES_DRAWN, bonferroni, ndtr(-threshold))
    degrees = np.maximum(pairs.supports - 1, 1)
    errors = pairs.spreads * np.sqrt((degrees + 1) / degrees)
    cleared: NDArray[np.bool_] = np.abs(pairs.differences) > -stdtrit(degrees, tails) * errors + pairs.rounding
    return cleared & (pairs.supports > 1)


def tie_groups(ranking: RankRanges) -> tuple[tuple[int, ...], ...]:
    """Every model with values in one group, the best group first, and the best mean first in each.

    The best model without a group leads the next one; all others without a group that it does not significantly beat
    join it. Two members of a group may differ significantly: neither differs from their leader.
    """
    groups = []
    left = list(ranking.order)
    while left:
        beaten = ranking.beats[left[0]]
        groups.append(tuple(model for model in left if model not in beaten))
        left = [model for model in left if model in beaten]
    return tuple(groups)
