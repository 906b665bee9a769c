"""Means over rollouts that passed a gate, the share that passed, and both combined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lookaway.core import Estimate, Floats, Gated, Group
from lookaway.statistics.intervals import clustered_estimate, clustered_share, scene_means


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedValues:
    """Values of one metric for the rollouts of one model, and those of the gate."""

    values: Floats
    scenes: Sequence[str]
    """Values of the scored rollouts that passed."""
    is_open: Floats
    gate_scenes: Sequence[str]
    """For every judged rollout: 1 if it passed, else 0."""


def gated_means(series: Sequence[GatedValues]) -> tuple[tuple[Estimate | None, Gated | None], ...]:
    """For each, the mean over rollouts that passed, and coverage and combined; no `Gated` where none was judged.

    The combined number is 2 S C / (S + C) for score S and coverage C: 0 where nothing passed, unknown where nothing
    that passed has a score.

    >>> judged = {"is_open": np.array([1, 1, 0, 0]), "gate_scenes": ["a", "b", "c", "d"]}
    >>> ((score, gated),) = gated_means([GatedValues(values=np.array([0.5, 0.7]), scenes=["a", "b"], **judged)])
    >>> round(score.mean, 2), gated.coverage.mean, round(gated.combined.mean, 4)
    (0.6, 0.5, 0.5455)
    """
    scores = scene_means([(data.values, data.scenes) for data in series])
    return tuple((score, _gated(score, data)) for score, data in zip(scores, series, strict=True))


def _gated(score: Estimate | None, data: GatedValues) -> Gated | None:
    coverage = clustered_share(np.asarray(data.is_open) == 1, data.gate_scenes)
    if coverage is None:
        return None
    if score is not None:
        is_full = coverage.mean == 1
        combined = _combined_of_all(score, coverage) if is_full else _combined(score.mean, coverage, data)
        return Gated(coverage=coverage, combined=combined)
    # Its upper end depends on an unknown score: it is 0, without an interval.
    nothing = Estimate(mean=0.0, low=None, high=None, scored=0, scenes=coverage.scenes)
    return Gated(coverage=coverage, combined=nothing if coverage.mean == 0 else None)


def _combined(score: float, coverage: Estimate, data: GatedValues) -> Estimate:
    """The harmonic mean, by the delta method: a rollout moves the score by (value - S) / n, the coverage by
    (open - C) / N.

    Where only 5 % of 160 clips passed, the 95 % interval covers the truth in 92.7 % of simulations.
    """
    share = coverage.mean
    total, scored = score + share, len(data.values)
    if total <= 0:
        return Estimate(mean=0.0, low=None, high=None, scored=scored, scenes=coverage.scenes)
    by_score, by_share = 2 * (share / total) ** 2, 2 * (score / total) ** 2
    influences = np.concatenate(
        [
            by_score * (np.asarray(data.values, np.float64) - score) / scored,
            by_share * (np.asarray(data.is_open, np.float64) - share) / len(data.is_open),
        ]
    )
    return clustered_estimate(_harmonic(score, share), influences, [*data.scenes, *data.gate_scenes], scored=scored)


def _combined_of_all(score: Estimate, coverage: Estimate) -> Estimate:
    """The harmonic mean where all passed: no rollout moves the coverage, yet it need not be 1 on other clips.

    So the two intervals are combined: the changes with the score at its end, and with the coverage at the lower end of
    Wilson's interval, add up as squares.
    """
    mean = _harmonic(score.mean, 1.0)
    plain = Estimate(mean=mean, low=None, high=None, scored=score.scored, scenes=coverage.scenes)
    if score.low is None or score.high is None or coverage.low is None:
        return plain
    down = math.hypot(mean - _harmonic(score.low, 1.0), mean - _harmonic(score.mean, coverage.low))
    return replace(plain, low=mean - down, high=_harmonic(score.high, 1.0))


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
