"""Values of many models and metrics, reduced to what intervals need of them: a few numbers for each scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """One value of one rollout in each row, in any order: columns, for there may be millions."""

    models: Indices
    metrics: Indices
    scenes: Indices
    """Numbers from 0 of the model, metric and scene of each value."""
    values: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneSums:
    """What is known of every scene; scenes are the last axis of all arrays, and 0 values in one are no value there."""

    sums: Floats
    counts: Indices
    squares: Floats
    """Sum of squared differences from the mean of the scene."""

    @property
    def scenes(self) -> Indices:
        """How many scenes have a value."""
        scenes: Indices = np.count_nonzero(self.counts, axis=-1)
        return scenes

    def of(self, *place: int | slice | Indices) -> SceneSums:
        """A part along the axes before the scenes: `of(slice(None), 3)` is one metric of all models."""
        return SceneSums(sums=self.sums[place], counts=self.counts[place], squares=self.squares[place])


def scene_sums(rows: ValueColumns, shape: tuple[int, int, int]) -> SceneSums:
    """Sums by model, metric and scene, of which there are as many as `shape` says."""
    codes = (rows.models, rows.metrics, rows.scenes)
    for code, size in zip(codes, shape, strict=True):
        if len(code) and not 0 <= code.min() <= code.max() < size:
            raise ValueError(f"Numbers of models, metrics and scenes must lie inside {shape}.")
    keys = (rows.models.astype(np.int64) * shape[1] + rows.metrics) * shape[2] + rows.scenes
    return _sums(keys, np.asarray(rows.values, np.float64), shape)


def named_scene_sums(values: Floats, scenes: Sequence[str]) -> SceneSums:
    """Sums of one model and metric by the names of scenes, in the order of the names.

    >>> named_scene_sums(np.array([0.2, 0.4, 0.9]), ["b", "b", "a"]).counts
    array([1, 2])
    """
    names, keys = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    return _sums(keys, np.asarray(values, np.float64), (len(names),))


def _sums(keys: Indices, values: Floats, shape: tuple[int, ...]) -> SceneSums:
    if not np.isfinite(values).all():
        raise ValueError("Values must be finite numbers; what has no value has no row.")
    size = int(np.prod(shape))
    counts = np.bincount(keys, minlength=size)
    sums = _sum_by(keys, values, size)
    deviations = values - (sums / np.maximum(counts, 1))[keys]
    np.square(deviations, out=deviations)
    squares = _sum_by(keys, deviations, size)
    return SceneSums(sums=sums.reshape(shape), counts=counts.reshape(shape), squares=squares.reshape(shape))


def _sum_by(keys: Indices, values: Floats, size: int) -> Floats:
    # Without any row numpy gives whole numbers.
    return np.bincount(keys, weights=values, minlength=size).astype(np.float64, copy=False)
