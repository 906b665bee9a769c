"""A mean over what passed a gate, how much passed it, and both as one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookaway.core import Estimate, Floats, Gated
from lookaway.statistics.scene_mean import clustered_estimate, scene_mean


def gated_mean(
    values: Floats, scenes: Sequence[str], is_open: Floats, gate_scenes: Sequence[str]
) -> tuple[Estimate | None, Gated | None]:
    """The mean over rollouts that passed, and what the gate makes of it; no `Gated` where nobody was judged.

    `values` and `scenes` are of scored rollouts that passed, `is_open` (0 or 1) and `gate_scenes` of all that were
    judged. The combined number is 2 S C / (S + C) of score S and coverage C: 0 where nothing passed, unknown where
    nothing of what passed has a score.

    >>> score, gated = gated_mean(np.array([0.5, 0.7]), ["a", "b"], np.array([1, 1, 0, 0]), ["a", "b", "c", "d"])
    >>> round(score.mean, 2), gated.coverage.mean, round(gated.combined.mean, 4)
    (0.6, 0.5, 0.5455)
    """
    reliability, coverage = scene_mean(values, scenes), scene_mean(is_open, gate_scenes)
    if coverage is None:
        return reliability, None
    if reliability is None:
        known = coverage.mean == 0
        nothing = Estimate(mean=0.0, low=None, high=None, scored=0, scenes=coverage.scenes)
        return None, Gated(coverage=coverage, combined=nothing if known else None)
    combined = _combined(reliability, coverage, values, scenes, is_open, gate_scenes)
    return reliability, Gated(coverage=coverage, combined=combined)


def _combined(
    reliability: Estimate,
    coverage: Estimate,
    values: Floats,
    scenes: Sequence[str],
    is_open: Floats,
    gate_scenes: Sequence[str],
) -> Estimate:
    """The harmonic mean; a rollout moves the score by (value - S) / n, the coverage by (open - C) / N, and the
    combined number by both, as far as it follows each of them."""
    score, share = reliability.mean, coverage.mean
    total = score + share
    if total <= 0:
        return Estimate(mean=0.0, low=None, high=None, scored=len(values), scenes=coverage.scenes)
    by_score, by_share = 2 * (share / total) ** 2, 2 * (score / total) ** 2
    influences = np.concatenate(
        [
            by_score * (np.asarray(values, np.float64) - score) / len(values),
            by_share * (np.asarray(is_open, np.float64) - share) / len(is_open),
        ]
    )
    mean = 2 * score * share / total
    return clustered_estimate(mean, influences, [*scenes, *gate_scenes], scored=len(values))
