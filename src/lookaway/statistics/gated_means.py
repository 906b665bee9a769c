"""Means over rollouts that passed a gate, the share that passed, and both combined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import Estimate, Floats, Gated, Group
from lookaway.statistics.intervals import UNBOUNDED, Range, clustered_share, mean_estimates
from lookaway.statistics.scene_bootstrap import named_scene_sums


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedValues:
    """Values of one metric for the rollouts of one model, and those of the gate."""

    values: Floats
    scenes: Sequence[str]
    """Values of the scored rollouts that passed."""
    is_open: Floats
    gate_scenes: Sequence[str]
    """For every judged rollout: 1 if it passed, else 0."""
    undecided: int = 0
    """Rollouts without a verdict that count as not passed: equation 1 of MBench divides by all samples."""
    range: Range = UNBOUNDED
    """Least and greatest possible value of the metric."""


def gated_means(series: Sequence[GatedValues]) -> tuple[tuple[Estimate | None, Gated | None], ...]:
    """For each, the mean over rollouts that passed, and coverage and combined; no `Gated` where none was judged.

    The combined number is 2 S C / (S + C) for score S and coverage C: 0 where nothing passed, unknown where nothing
    that passed has a score.

    >>> judged = {"is_open": np.array([1, 1, 0, 0]), "gate_scenes": ["a", "b", "c", "d"]}
    >>> ((score, gated),) = gated_means([GatedValues(values=np.array([0.5, 0.7]), scenes=["a", "b"], **judged)])
    >>> round(score.mean, 2), gated.coverage.mean, round(gated.combined.mean, 4)
    (0.6, 0.5, 0.5455)
    """
    scores = mean_estimates(
        [named_scene_sums(data.values, data.scenes) for data in series], [data.range for data in series]
    )
    return tuple((score, _gated(score, data)) for score, data in zip(scores, series, strict=True))


def _gated(score: Estimate | None, data: GatedValues) -> Gated | None:
    judged = clustered_share(np.asarray(data.is_open) == 1, data.gate_scenes)
    if judged is None:
        return None
    coverage = _of_all(judged, judged.scored / (judged.scored + data.undecided))
    if score is not None:
        return Gated(coverage=coverage, combined=_combined(score, coverage, data))
    # Its upper end depends on an unknown score: it is 0, without an interval.
    nothing = Estimate(mean=0.0, low=None, high=None, scored=0, scenes=coverage.scenes)
    return Gated(coverage=coverage, combined=nothing if coverage.mean == 0 else None)


def _of_all(share: Estimate, judged: float) -> Estimate:
    """A share of the rollouts that were judged as one of all of them, where the others count as not passed."""
    ends = (None if end is None else end * judged for end in (share.low, share.high))
    low, high = ends
    return replace(share, mean=share.mean * judged, low=low, high=high) if judged < 1 else share


def _combined(score: Estimate, coverage: Estimate, data: GatedValues) -> Estimate:
    """The harmonic mean, with an interval made of the intervals of score and coverage (the method of Zou and Donner).

    Each end is as far away as the two changes together, with the score and with the coverage at its own end; scenes
    that move both the same way make it further. Without an interval of the score there is none.
    """
    mean = _harmonic(score.mean, coverage.mean)
    plain = Estimate(mean=mean, low=None, high=None, scored=score.scored, scenes=coverage.scenes)
    if score.low is None or score.high is None or coverage.low is None or coverage.high is None:
        return plain
    similarity = _similarity(score.mean, coverage.mean, data)
    down, up = (
        math.sqrt(by_score**2 + by_coverage**2 + 2 * similarity * by_score * by_coverage)
        for by_score, by_coverage in (
            (mean - _harmonic(score.low, coverage.mean), mean - _harmonic(score.mean, coverage.low)),
            (_harmonic(score.high, coverage.mean) - mean, _harmonic(score.mean, coverage.high) - mean),
        )
    )
    return replace(plain, low=max(0.0, mean - down), high=min(1.0, mean + up))


def _similarity(score: float, share: float, data: GatedValues) -> float:
    """How strongly scenes that pass more often score higher: a correlation of influences, 0 where it is negative."""
    _, place = np.unique(np.asarray([*data.scenes, *data.gate_scenes], np.str_), return_inverse=True)
    scored, size = len(data.values), int(place.max()) + 1
    on_score = np.bincount(place[:scored], weights=np.asarray(data.values, np.float64) - score, minlength=size)
    on_share = np.bincount(place[scored:], weights=np.asarray(data.is_open, np.float64) - share, minlength=size)
    spread = math.sqrt(float(np.sum(on_score**2) * np.sum(on_share**2)))
    return max(0.0, float(on_score @ on_share) / spread) if spread > 0 else 0.0


def _harmonic(score: float, share: float) -> float:
    total = score + share
    return 2 * score * share / total if total > 0 else 0.0


def passed_gate(group: Group, gate: Group) -> Group:
    """The group with only those rollouts that are known to have passed the gate; one that was not judged has not."""
    is_open = {rollout for rollout, value in zip(gate.rollouts, gate.values.tolist(), strict=True) if value == 1.0}
    passed = np.array([rollout in is_open for rollout in group.rollouts], np.bool_)
    kept = np.flatnonzero(passed).tolist()
    return replace(
        group,
        values=group.values[passed],
        rollouts=tuple(group.rollouts[place] for place in kept),
        scenes=tuple(group.scenes[place] for place in kept),
        raw_values=group.raw_values[passed[group.has_raw]],
        has_raw=group.has_raw[passed],
    )
