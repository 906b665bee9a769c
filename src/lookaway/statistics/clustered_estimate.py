"""An estimate whose t interval comes from how far each scene moves it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookaway.core import Estimate, Floats


def clustered_estimate(
    mean: float, influences: Floats, scenes: Sequence[str], *, scored: int, level: float = 0.95
) -> Estimate:
    """An estimate with the interval that the influence of every rollout on it gives, clustered by scene."""
    _, scene = np.unique(np.asarray(scenes), return_inverse=True)
    moves = np.bincount(scene, weights=influences).astype(np.float64, copy=False)
    return moved_estimate(mean, moves, scored=scored, level=level)


def moved_estimate(mean: float, moves: Floats, *, scored: int, level: float = 0.95) -> Estimate:
    """An estimate with the t interval of G-1 degrees of freedom, given how far each of its G scenes moves it.

    The standard error is sqrt(G / (G-1) * sum of squared moves). One scene alone has no interval: nothing is known
    about how scenes differ.
    """
    scenes = len(moves)
    if scenes == 1:
        return Estimate(mean=mean, low=None, high=None, scored=scored, scenes=1)
    from scipy.special import stdtrit  # scipy.stats alone would double the start-up time

    error = float(np.sqrt(scenes / (scenes - 1) * np.sum(moves**2)))
    reach = float(stdtrit(scenes - 1, (1 + level) / 2)) * error
    return Estimate(mean=mean, low=mean - reach, high=mean + reach, scored=scored, scenes=scenes)
