"""How well a metric foretells which of two clips people prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.scene_replicates import (
    defined,
    quotient,
    replicate_estimate,
)

VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAccuracy:
    """What a metric makes of pairs of clips that people compared; `None` where a number is not defined."""

    pairs: int
    tie_threshold: float
    """Clips whose values differ by no more are called a tie. It comes from other pairs than these."""
    accuracy: Estimate | None
    """Share of pairs of which the metric says what people say: left, right or tie."""
    decided_accuracy: Estimate | None
    """The same of pairs that neither people nor the metric call a tie."""
    reversals: int
    """Pairs of which the metric says the opposite of what people say."""
    missed_ties: int
    """Ties of people between whose clips the metric decides."""
    false_ties: int
    """Decisions of people that the metric calls a tie."""
    spearman: Estimate | None
    kendall: Estimate | None
    """Of differences with verdicts (tau-b)."""


def pair_accuracy(
    differences: Floats,
    verdicts: Indices,
    scenes: Sequence[str],
    *,
    tie_threshold: float,
    weights: Floats | None = None,
) -> PairAccuracy:
    """A metric against people, pair by pair.

    Intervals of shares are Wilson's, clustered by scene; those of correlations need weights [replicates, scenes].

    `differences` are left minus right, positive where the metric finds left better; `verdicts` are 1, 0 or -1. The
    threshold is never chosen here: chosen on the pairs it is tested on, it flatters.

    >>> found = pair_accuracy(np.array([0.5, -0.2, 0.01]), np.array([1, 1, 0]), ["a", "b", "c"], tie_threshold=0.05)
    >>> round(found.accuracy.mean, 3), found.reversals
    (0.667, 1)
    """
    if not len(differences) == len(verdicts) == len(scenes):
        raise ValueError(f"One of each per pair, found {len(differences)}, {len(verdicts)}, {len(scenes)}.")
    if tie_threshold < 0 or not np.isin(verdicts, (-1, 0, 1)).all() or not np.isfinite(differences).all():
        raise ValueError("Differences are finite, verdicts are 1, 0 or -1, and the threshold is not negative.")
    said = np.where(np.abs(differences) <= tie_threshold, 0, np.sign(differences)).astype(np.int64)
    decided = (said != 0) & (verdicts != 0)
    hit = said == verdicts
    spearman, kendall = _correlations(differences, verdicts, scenes, weights)
    return PairAccuracy(
        pairs=len(said),
        tie_threshold=tie_threshold,
        accuracy=clustered_share(hit, scenes),
        decided_accuracy=clustered_share(hit[decided], np.asarray(scenes, np.str_)[decided].tolist()),
        reversals=int(np.sum(said * verdicts == -1)),
        missed_ties=int(np.sum((verdicts == 0) & (said != 0))),
        false_ties=int(np.sum((verdicts != 0) & (said == 0))),
        spearman=spearman,
        kendall=kendall,
    )


def _correlations(
    differences: Floats, verdicts: Indices, scenes: Sequence[str], weights: Floats | None
) -> tuple[Estimate | None, Estimate | None]:
    """Spearman's and Kendall's, of a table of how often each difference goes with each verdict."""
    if not len(differences):
        return None, None
    from scipy.sparse import csr_array

    levels, level = np.unique(differences, return_inverse=True)
    names, scene = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    size = len(levels) * 3
    by_cell = csr_array((np.ones(len(scene)), (level * 3 + (verdicts + 1), scene)), shape=(size, len(names)))

    def both(multiplicities: Floats) -> Floats:
        """[2, replicates], from how often each scene counts [replicates, scenes]."""
        table = np.asarray(by_cell @ multiplicities.T).T.reshape(len(multiplicities), -1, 3)
        return np.stack([_spearman(table), _kendall(table)])

    drawn = None
    if weights is not None:
        if weights.shape[1:] != (len(names),):
            raise ValueError(f"Weights are [replicates, {len(names)} scenes], found {list(weights.shape)}.")
        at_once = max(1, VALUES_AT_ONCE // size)
        parts = [weights[start : start + at_once] for start in range(0, len(weights), at_once)]
        drawn = np.concatenate([both(part) for part in parts], axis=1)

    def estimate(place: int, value: float | None) -> Estimate | None:
        known = None if drawn is None else drawn[place]
        return None if value is None else replicate_estimate(value, known, scored=len(scene), scenes=len(names))

    spearman, kendall = both(np.ones((1, len(names))))[:, 0].tolist()
    return estimate(0, defined(spearman)), estimate(1, defined(kendall))


def _spearman(table: Floats) -> Floats:
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    one, other = _mean_ranks(rows), _mean_ranks(columns)
    together = np.sum(one * (table @ other[:, :, None])[:, :, 0], axis=1)
    spread = np.sum(rows * one**2, axis=1) * np.sum(columns * other**2, axis=1)
    return np.asarray(np.clip(quotient(together, np.sqrt(spread)), -1, 1))


def _mean_ranks(counts: Floats) -> Floats:
    """The mean rank of every level, less the mean of all ranks."""
    return np.asarray(np.cumsum(counts, axis=1) - counts / 2 - counts.sum(axis=1, keepdims=True) / 2)


def _kendall(table: Floats) -> Floats:
    below = np.cumsum(table, axis=1) - table
    agreeing = table[:, :, 1] * below[:, :, 0] + table[:, :, 2] * (below[:, :, 0] + below[:, :, 1])
    opposed = table[:, :, 1] * below[:, :, 2] + table[:, :, 0] * (below[:, :, 1] + below[:, :, 2])
    whole = table.sum(axis=(1, 2)) ** 2
    untied = [(whole - np.sum(table.sum(axis=axis) ** 2, axis=1)) / 2 for axis in (2, 1)]
    return np.clip(quotient(np.sum(agreeing - opposed, axis=1), np.sqrt(untied[0] * untied[1])), -1, 1)
