"""The values of a run that count, by model, metric and subset: those of rollouts that were put to the test."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lookaway.core import Floats, Group
from lookaway.reports.runs import SiteRun
from lookaway.statistics.gated_means import passed_gate
from lookaway.statistics.intervals import effective_size
from lookaway.statistics.scene_bootstrap import named_scene_sums


class Place(NamedTuple):
    """Where values belong."""

    model: str
    metric: str
    subset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedValues:
    """What one metric gave for the rollouts of one model and subset: columns, for there may be many."""

    values: Floats
    rollouts: tuple[str, ...]
    cases: tuple[str, ...]
    scenes: tuple[str, ...]
    seeds: tuple[str, ...]

    @property
    def effective(self) -> float:
        """How many independent values they are worth."""
        return float(effective_size(named_scene_sums(self.values, self.scenes)).size) if len(self.values) else 0.0


NO_VALUES = CountedValues(values=np.array([]), rollouts=(), cases=(), scenes=(), seeds=())


def counted_values(run: SiteRun, models: Collection[str] | None = None) -> dict[Place, CountedValues]:
    """Values of some models, or of all, in the order of rollouts, gates included.

    Whether a gate decides is said by the cells of the suite's table; what it did not let pass does not count.
    """
    gates = {(group.model, group.subset): group for group in run.groups if group.is_gate}
    gated = {Place(cell.model, cell.metric, cell.subset) for cell in run.table.cells if cell.gated}
    found = {}
    for group in run.groups:
        if models is None or group.model in models:
            place = Place(group.model, group.metric, group.subset)
            found[place] = _counted(run, group, gates[group.model, group.subset] if place in gated else None)
    return found


def _counted(run: SiteRun, group: Group, gate: Group | None) -> CountedValues:
    kept = np.ones(len(group.values), np.bool_) if gate is None else passed_gate(group.rollouts, gate)
    places = np.flatnonzero(kept).tolist()
    rollouts = [run.rollouts[group.rollouts[place]] for place in places]
    return CountedValues(
        values=group.values[kept],
        rollouts=tuple(rollout.id for rollout in rollouts),
        cases=tuple(rollout.case for rollout in rollouts),
        scenes=tuple(group.scenes[place] for place in places),
        seeds=tuple(rollout.seed for rollout in rollouts),
    )
