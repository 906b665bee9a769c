"""How well a metric predicts which of two clips people prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Estimate, Floats, Indices
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.scene_replicates import finite_or_none, replicate_estimate, safe_divide

VALUES_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAccuracy:
    """A metric against people's verdicts on pairs of clips; `None` where a number is not defined."""

    pairs: int
    tie_threshold: float
    """Values that differ by no more are a tie. It must be chosen on other pairs."""
    accuracy: Estimate | None
    """Share of pairs on which metric and people agree: left, right or tie."""
    decided_accuracy: Estimate | None
    """The same over pairs that neither people nor the metric call a tie."""
    reversals: int
    """Pairs on which the metric says the opposite."""
    missed_ties: int
    """People's ties that the metric decides."""
    false_ties: int
    """People's decisions that the metric calls a tie."""
    spearman: Estimate | None
    kendall: Estimate | None
    """Rank correlations of differences with verdicts (Kendall's is tau-b)."""


def pair_accuracy(
    differences: Floats,
    verdicts: Indices,
    scenes: Sequence[str],
    *,
    tie_threshold: float,
    weights: Floats | None = None,
) -> PairAccuracy:
    """Compare a metric with people, pair by pair.

    Intervals of shares are Wilson's, clustered by scene; those of correlations need weights [replicates, scenes].

    `differences` are left minus right, positive where the metric finds left better; `verdicts` are 1, 0 or -1. A
    threshold chosen on the same pairs would overestimate the accuracy.

    >>> found = pair_accuracy(np.array([0.5, -0.2, 0.01]), np.array([1, 1, 0]), ["a", "b", "c"], tie_threshold=0.05)
    >>> round(found.accuracy.mean, 3), found.reversals
    (0.667, 1)
    """
    if not len(differences) == len(verdicts) == len(scenes):
        raise ValueError(f"Expected one of each per pair, found {len(differences)}, {len(verdicts)}, {len(scenes)}.")
    if tie_threshold < 0 or not np.isin(verdicts, (-1, 0, 1)).all() or not np.isfinite(differences).all():
        raise ValueError("Expected finite differences, verdicts of 1, 0 or -1, and a threshold of 0 or more.")
    predicted = predicted_verdicts(differences, tie_threshold)
    decided = (predicted != 0) & (verdicts != 0)
    hit = predicted == verdicts
    spearman, kendall = _correlations(differences, verdicts, scenes, weights)
    return PairAccuracy(
        pairs=len(predicted),
        tie_threshold=tie_threshold,
        accuracy=clustered_share(hit, scenes),
        decided_accuracy=clustered_share(hit[decided], np.asarray(scenes, np.str_)[decided].tolist()),
        reversals=int(np.sum(predicted * verdicts == -1)),
        missed_ties=int(np.sum((verdicts == 0) & (predicted != 0))),
        false_ties=int(np.sum((verdicts != 0) & (predicted == 0))),
        spearman=spearman,
        kendall=kendall,
    )


def predicted_verdicts(differences: Floats, tie_threshold: float) -> Indices:
    """What a metric says about each pair: 1, 0 or -1.

    >>> predicted_verdicts(np.array([0.5, -0.2, 0.01]), 0.05).tolist()
    [1, -1, 0]
    """
    return np.where(np.abs(differences) <= tie_threshold, 0, np.sign(differences)).astype(np.int64)


def choose_tie_threshold(differences: Floats, verdicts: Indices) -> float:
    """The threshold at which a metric and people agree on most of these pairs, the smallest if there are several.

    It lies half-way between the sizes of two neighbouring differences, or is 0: no other one changes a decision.

    >>> choose_tie_threshold(np.array([0.5, -0.4, 0.02, -0.1]), np.array([1, -1, 0, 0]))
    0.25
    """
    if len(differences) != len(verdicts) or not len(differences):
        raise ValueError(f"Expected one verdict per difference, found {len(differences)} and {len(verdicts)}.")
    sizes = np.abs(np.asarray(differences, np.float64))
    order = np.argsort(sizes, kind="stable")
    decides_right = (np.sign(differences) == verdicts)[order]
    ties_right = (np.asarray(verdicts) == 0)[order]
    hits = np.concatenate([[0], np.cumsum(ties_right)]) + decides_right.sum()
    hits = hits - np.concatenate([[0], np.cumsum(decides_right)])
    edges = np.concatenate([[0.0], sizes[order]])
    # Only between two sizes that differ is there a threshold; the last one calls everything a tie.
    is_edge = np.append(edges[1:] > edges[:-1], True)
    middles = np.append((edges[1:] + edges[:-1]) / 2, edges[-1])
    middles[edges == 0.0] = 0.0
    best = int(np.argmax(np.where(is_edge, hits, -1)))
    return float(middles[best])


def _correlations(
    differences: Floats, verdicts: Indices, scenes: Sequence[str], weights: Floats | None
) -> tuple[Estimate | None, Estimate | None]:
    """Spearman's and Kendall's, from a table of how often each difference meets each verdict."""
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
    return estimate(0, finite_or_none(spearman)), estimate(1, finite_or_none(kendall))


def _spearman(table: Floats) -> Floats:
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    one, other = _mean_ranks(rows), _mean_ranks(columns)
    together = np.sum(one * (table @ other[:, :, None])[:, :, 0], axis=1)
    spread = np.sum(rows * one**2, axis=1) * np.sum(columns * other**2, axis=1)
    return np.asarray(np.clip(safe_divide(together, np.sqrt(spread)), -1, 1))


def _mean_ranks(counts: Floats) -> Floats:
    """The mean rank of every level, centred."""
    return np.asarray(np.cumsum(counts, axis=1) - counts / 2 - counts.sum(axis=1, keepdims=True) / 2)


def _kendall(table: Floats) -> Floats:
    below = np.cumsum(table, axis=1) - table
    agreeing = table[:, :, 1] * below[:, :, 0] + table[:, :, 2] * (below[:, :, 0] + below[:, :, 1])
    opposed = table[:, :, 1] * below[:, :, 2] + table[:, :, 0] * (below[:, :, 1] + below[:, :, 2])
    whole = table.sum(axis=(1, 2)) ** 2
    untied = [(whole - np.sum(table.sum(axis=axis) ** 2, axis=1)) / 2 for axis in (2, 1)]
    return np.clip(safe_divide(np.sum(agreeing - opposed, axis=1), np.sqrt(untied[0] * untied[1])), -1, 1)
