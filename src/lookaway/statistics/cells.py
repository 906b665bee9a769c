"""Cells of a table: plain means, and means over rollouts that passed a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lookaway.core import Cell, Gated, Group, Reason
from lookaway.statistics.gated_means import GatedValues, gated_means, passed_gate
from lookaway.statistics.intervals import clustered_share, scene_means


def mean_cells(groups: Sequence[Group]) -> tuple[Cell, ...]:
    """One cell per group: mean, interval, n of N, and why the rest is missing."""
    means = scene_means([(group.values, group.scenes) for group in groups])
    return tuple(
        Cell(
            model=group.model,
            metric=group.metric,
            subset=group.subset,
            estimate=clustered_share(group.values == 1, group.scenes) if group.is_gate else mean,
            raw_mean=float(np.mean(group.raw_values)) if len(group.raw_values) else None,
            asked=group.asked,
            failures=group.failures,
            reasons=group.reasons,
        )
        for group, mean in zip(groups, means, strict=True)
    )


def gated_cells(groups: Sequence[Group]) -> tuple[Cell, ...]:
    """One cell per group that is not a gate: the mean over rollouts that passed the gate of its model and subset.

    Others count as `gate_closed`. A rollout whose gate is unknown, because the judge failed, counts neither in the
    coverage nor in the mean; the gate gives the reason. Where all are unknown, the cell has no estimate. It is a plain
    mean where there is no gate or no judge.
    """
    gates = {(group.model, group.subset): group for group in groups if group.is_gate}
    shown = [group for group in groups if not group.is_gate]
    cells = list(mean_cells(shown))
    own = {place: gates.get((group.model, group.subset)) for place, group in enumerate(shown)}
    judged = {place: gate for place, gate in own.items() if gate is not None and not _has_no_judge(gate)}
    found = gated_means([_gated_values(shown[place], gate) for place, gate in judged.items()])
    for (place, gate), (estimate, gated) in zip(judged.items(), found, strict=True):
        cell = replace(cells[place], estimate=estimate, gated=gated or Gated(coverage=None, combined=None))
        cells[place] = _gated_cell(shown[place], gate, cell)
    return tuple(cells)


def _has_no_judge(gate: Group) -> bool:
    return gate.reasons.get(Reason.NO_JUDGE.value) == gate.asked


def _gated_values(group: Group, gate: Group) -> GatedValues:
    passed = passed_gate(group.rollouts, gate)
    scenes = tuple(scene for scene, counts in zip(group.scenes, passed.tolist(), strict=True) if counts)
    return GatedValues(values=group.values[passed], scenes=scenes, is_open=gate.values, gate_scenes=gate.scenes)


def _gated_cell(group: Group, gate: Group, cell: Cell) -> Cell:
    """The cell with the raw mean over rollouts that passed, and why the rest is missing."""
    passed, judged = passed_gate(group.rollouts, gate), set(gate.rollouts)
    closed = sum(rollout in judged for rollout in group.rollouts) - int(passed.sum())
    reasons = {
        **group.reasons,
        **({Reason.GATE_CLOSED.value: closed} if closed else {}),
        **({"gate failed": gate.failures} if gate.failures else {}),
        **{f"gate {reason}": count for reason, count in gate.reasons.items()},
    }
    raws = group.raw_values[passed[group.has_raw]]
    return replace(cell, raw_mean=float(np.mean(raws)) if len(raws) else None, reasons=reasons)
