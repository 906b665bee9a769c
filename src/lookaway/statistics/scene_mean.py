"""A mean over rollouts whose interval knows that rollouts of one scene are not independent."""

from __future__ import annotations

from collections.abc import Sequence

from lookaway.core import Estimate, Floats
from lookaway.statistics.mean_estimates import mean_estimates
from lookaway.statistics.scene_sums import named_scene_sums


def scene_mean(values: Floats, scenes: Sequence[str], *, level: float = 0.95) -> Estimate | None:
    """Mean with the interval of `mean_estimates`; None where there is no value.

    >>> import numpy as np
    >>> estimate = scene_mean(np.array([0.2, 0.4, 0.6]), ["a", "b", "c"])
    >>> round(estimate.mean, 3), round(estimate.low, 3), round(estimate.high, 3), estimate.scored
    (0.4, -0.097, 0.897, 3)
    """
    return scene_means([(values, scenes)], level=level)[0]


def scene_means(series: Sequence[tuple[Floats, Sequence[str]]], *, level: float = 0.95) -> tuple[Estimate | None, ...]:
    """The same of many series of values and their scenes, in one go."""
    return mean_estimates([named_scene_sums(values, scenes) for values, scenes in series], level=level)
