"""Cells of a table: plain means, and means over what passed a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookaway.core import Cell, Group, Reason
from lookaway.statistics.gated_mean import gated_mean
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


def gated_cells(groups: Sequence[Group]) -> tuple[Cell, ...]:
    """One cell per group that is no gate: the mean over rollouts that the gate of its model and subset let pass.

    What did not pass counts as `gate_closed`. Where nobody could be judged the cell is a plain mean. A rollout whose
    gate is unknown, because the judge failed, counts neither in the coverage nor in the mean; its gate says why.
    """
    gates = {(group.model, group.subset): group for group in groups if group.is_gate}
    cells = []
    for group, plain in zip(groups, mean_cells(groups), strict=True):
        if group.is_gate:
            continue
        gate = gates.get((group.model, group.subset))
        cells.append(plain if gate is None or not len(gate.values) else _gated_cell(group, gate, plain))
    return tuple(cells)


def _gated_cell(group: Group, gate: Group, plain: Cell) -> Cell:
    is_open = dict(zip(gate.rollouts, gate.values.tolist(), strict=True))
    passed = np.array([is_open.get(rollout) == 1.0 for rollout in group.rollouts], np.bool_)
    scenes = tuple(scene for scene, counts in zip(group.scenes, passed.tolist(), strict=True) if counts)
    estimate, gated = gated_mean(group.values[passed], scenes, gate.values, gate.scenes)
    closed = sum(is_open.get(rollout) == 0.0 for rollout in group.rollouts)
    unknown = int(len(passed) - passed.sum()) - closed
    reasons = {
        **group.reasons,
        **({Reason.GATE_CLOSED.value: closed} if closed else {}),
        **({f"gate {reason}": count for reason, count in gate.reasons.items()} if unknown else {}),
    }
    return replace(plain, estimate=estimate, gated=gated, raw_mean=None, reasons=reasons)
