"""How many independent rollouts the rollouts of some scenes are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats
from lookaway.statistics.scene_sums import SceneSums


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveSize:
    """Arrays without the axis of scenes."""

    size: Floats
    """n / (1 + (m - 1) ICC) of n values with m values in the mean scene; 0 where there is no value."""
    likeness: Floats
    """ICC, the intraclass correlation: how alike values of one scene are, from 0 (no more than any) to 1 (the same)."""


def effective_size(sums: SceneSums) -> EffectiveSize:
    """The size, with the intraclass correlation of a one-way analysis of variance.

    ICC = (B - W) / (B + (k - 1) W) of the mean squares B between and W within scenes, where k = (n - sum n_g^2 / n) /
    (G - 1) values are in a scene. It is taken as 0 where it would be negative, where no scene has two values, and
    where all values are equal. One scene alone is worth one value: nothing is known about how scenes differ.
    """
    counts = sums.counts.astype(np.float64)
    n, scenes = counts.sum(-1), sums.scenes.astype(np.float64)
    some = np.maximum(n, 1)
    mean = sums.sums.sum(-1) / some
    scene_means = sums.sums / np.maximum(counts, 1)
    between = np.sum(counts * (scene_means - mean[..., None]) ** 2, axis=-1) / np.maximum(scenes - 1, 1)
    within = sums.squares.sum(-1) / np.maximum(n - scenes, 1)
    usual = (n - np.sum(counts**2, axis=-1) / some) / np.maximum(scenes - 1, 1)
    whole = between + (usual - 1) * within
    # Equal values have means that differ in their last digits.
    noise = 1e-24 * np.max(np.abs(scene_means), axis=-1, initial=0.0) ** 2
    can_tell = (n > scenes) & (between + within > noise)
    likeness = np.divide(between - within, whole, out=np.zeros_like(whole), where=can_tell)
    likeness = np.where((scenes == 1) & (n > 1), 1.0, np.clip(likeness, 0.0, 1.0))
    size = n / (1 + (n / np.maximum(scenes, 1) - 1) * likeness)
    return EffectiveSize(size=size, likeness=likeness)
