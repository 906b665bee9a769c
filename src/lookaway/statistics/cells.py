"""Cells of a table that are plain means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lookaway.core import Cell, Group
from lookaway.statistics.scene_mean import scene_mean


def mean_cells(groups: Sequence[Group]) -> tuple[Cell, ...]:
    """One cell per group: mean, interval, n of N, and why the rest is missing."""
    return tuple(
        Cell(
            model=group.model,
            metric=group.metric,
            subset=group.subset,
            estimate=scene_mean(group.values, group.scenes),
            raw_mean=float(np.mean(group.raw_values)) if len(group.raw_values) else None,
            asked=group.asked,
            failures=group.failures,
            reasons=group.reasons,
        )
        for group in groups
    )
