"""A mean over rollouts whose interval knows that rollouts of one scene are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookaway.core import Estimate, Floats


def scene_mean(values: Floats, scenes: Sequence[str], *, level: float = 0.95) -> Estimate | None:
    """Mean with a scene-clustered t interval of G-1 degrees of freedom; None where there is no value.

    The standard error is that of a mean over clusters of unequal size, sqrt(G / (G-1) * sum_g (sum of residuals in
    g)^2) / n. One scene alone has no interval: nothing is known about how scenes differ.

    >>> estimate = scene_mean(np.array([0.2, 0.4, 0.6]), ["a", "b", "c"])
    >>> round(estimate.mean, 3), round(estimate.low, 3), round(estimate.high, 3), estimate.scored
    (0.4, -0.097, 0.897, 3)
    """
    count = len(values)
    if count == 0:
        return None
    mean = float(np.mean(values))
    influences = (np.asarray(values, np.float64) - mean) / count
    return clustered_estimate(mean, influences, scenes, scored=count, level=level)


def clustered_estimate(
    mean: float, influences: Floats, scenes: Sequence[str], *, scored: int, level: float = 0.95
) -> Estimate:
    """An estimate with the interval that the influence of every rollout on it gives, clustered by scene."""
    _, cluster = np.unique(np.asarray(scenes), return_inverse=True)
    groups = int(cluster.max()) + 1
    if groups == 1:
        return Estimate(mean=mean, low=None, high=None, scored=scored, scenes=1)
    from scipy.special import stdtrit  # scipy.stats alone would double the start-up time

    residuals = np.bincount(cluster, weights=influences)
    error = float(np.sqrt(groups / (groups - 1) * np.sum(residuals**2)))
    reach = float(stdtrit(groups - 1, (1 + level) / 2)) * error
    return Estimate(mean=mean, low=mean - reach, high=mean + reach, scored=scored, scenes=groups)
