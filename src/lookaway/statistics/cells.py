"""Cells of a table: plain means, and means over what passed a gate; and the values that each rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from lookaway.core import TESTED, TRIGGERED, Cell, Gated, Group, Reason, Table, Tested, gate_decides
from lookaway.statistics.gated_means import GatedValues, gated_means, passed_gate
from lookaway.statistics.intervals import clustered_share, effective_size, mean_estimates
from lookaway.statistics.scene_bootstrap import named_scene_sums


def mean_cells(groups: Sequence[Group]) -> tuple[Cell, ...]:
    """One cell per group: mean, interval, n of N, and why the rest is missing."""
    sums = [named_scene_sums(group.values, group.scenes) for group in groups]
    means = mean_estimates(sums, [group.range for group in groups])
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
            effective=float(effective_size(own).size),
        )
        for group, own, mean in zip(groups, sums, means, strict=True)
    )


def gated_cells(groups: Sequence[Group], *, combines: bool = False) -> tuple[Cell, ...]:
    """One cell per group that is not a gate; for consistency, the mean over rollouts that passed the gate.

    The gate is that of its model, subset and protocol (`gate_decides`). Others count as `gate_closed`. A rollout whose
    gate is unknown, because it abstained or failed, counts neither in the coverage nor in the mean; the gate gives the
    reason. In a published share it counts as not triggered (MBench, equation 1). Where all are unknown, the cell has no
    estimate. It is a plain mean where there is no gate, no judge, or for what is not consistency, and for published
    numbers that have no gate: `tested` says then what ours would make of them. `combines` is for a gate that was
    triggered or not: coverage and score are combined to one number.
    """
    gates = _Gates(groups)
    shown = [group for group in groups if not group.is_gate]
    cells = list(mean_cells(shown))
    deciding = {place: gate for place, group in enumerate(shown) if (gate := gates.deciding(group)) is not None}
    judged = {place: gate for place, gate in deciding.items() if not _has_no_judge(gate)}
    beside = {
        place: gate
        for place, group in enumerate(shown)
        if place not in deciding and (gate := gates.beside(group)) is not None
    }
    passed = {place: passed_gate(shown[place], gate) for place, gate in (judged | beside).items()}
    found = gated_means(
        [
            GatedValues(
                values=passed[place].values,
                scenes=passed[place].scenes,
                is_open=gate.values,
                gate_scenes=gate.scenes,
                undecided=_undecided(shown[place], gate),
                range=shown[place].range,
            )
            for place, gate in (judged | beside).items()
        ]
    )
    for (place, gate), (estimate, gated) in zip((judged | beside).items(), found, strict=True):
        if place in beside:
            share = gated.coverage if gated else None
            untested = len(shown[place].rollouts) - len(passed[place].rollouts)
            cells[place] = replace(cells[place], tested=Tested(share=share, estimate=estimate), untested=untested)
            continue
        raws = passed[place].raw_values
        counted = named_scene_sums(passed[place].values, passed[place].scenes)
        cells[place] = replace(
            cells[place],
            estimate=estimate,
            gated=_labelled(gated or Gated(coverage=None), combines=combines),
            raw_mean=float(np.mean(raws)) if len(raws) else None,
            reasons=_gated_reasons(shown[place], gate, passed[place]),
            effective=float(effective_size(counted).size),
        )
    return tuple(cells)


def without_triggers(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups without the gates that belong to a publication."""
    return tuple(group for group in groups if not (group.is_gate and group.protocol is not None))


def with_untested(table: Table, groups: Sequence[Group]) -> Table:
    """A table that ignores triggers, with the number of scores in each cell whose rollouts they would not count."""
    gates = _Gates([group for group in groups if not (group.is_gate and group.protocol is None)])
    untested = {
        GroupKey(group.model, group.metric, group.subset): len(group.rollouts) - len(passed_gate(group, gate).rollouts)
        for group in groups
        if not group.is_gate and (gate := gates.deciding(group)) is not None
    }
    keys = (GroupKey(cell.model, cell.metric, cell.subset) for cell in table.cells)
    cells = tuple(
        replace(cell, untested=untested.get(key, cell.untested)) for key, cell in zip(keys, table.cells, strict=True)
    )
    if not any(untested.values()):
        return replace(table, cells=cells)
    note = "Triggers are ignored: means include rollouts that are not known to have tested memory (untested)."
    return replace(table, cells=cells, notes=(*table.notes, note))


def branch_notes(groups: Sequence[Group]) -> tuple[str, ...]:
    """A note for every metric whose values were measured in more than one way: whose, and how many in which way."""
    metrics: dict[tuple[str, str], dict[str, Mapping[str, int]]] = {}
    for group in groups:
        if group.branches:
            metrics.setdefault((group.metric, group.subset), {})[group.model] = group.branches
    return tuple(
        f"{metric} of {subset} is measured in several ways whose values are not comparable: "
        + "; ".join(
            f"{model} {', '.join(f'{branch} {count}' for branch, count in branches.items())}"
            for model, branches in models.items()
        )
        + "."
        for (metric, subset), models in metrics.items()
        if len({branch for branches in models.values() for branch in branches}) > 1
    )


class GroupKey(NamedTuple):
    """What tells one group of a run from the others."""

    model: str
    metric: str
    subset: str


def counted_groups(groups: Sequence[Group], cells: Sequence[Cell]) -> dict[GroupKey, Group]:
    """Each group with only the values that its cell rests on, gates included.

    The cells of the suite's table say whether a gate decides; then only rollouts that passed it count.
    """
    gates = _Gates(groups)
    gated = {GroupKey(cell.model, cell.metric, cell.subset) for cell in cells if cell.gated}
    keys = [GroupKey(group.model, group.metric, group.subset) for group in groups]
    return {
        key: passed_gate(group, gate) if key in gated and (gate := gates.deciding(group)) is not None else group
        for key, group in zip(keys, groups, strict=True)
    }


def _undecided(group: Group, gate: Group) -> int:
    """Rollouts that a trigger did not decide about and a published share counts all the same."""
    is_published = gate.protocol is not None and group.protocol in ("published", "both")
    return gate.asked - len(gate.values) if is_published else 0


class _Gates:
    """The gates of each model and subset."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._gates: dict[tuple[str, str], list[Group]] = {}
        for group in groups:
            if group.is_gate:
                self._gates.setdefault((group.model, group.subset), []).append(group)

    def deciding(self, group: Group) -> Group | None:
        """The gate that decides which rollouts count for a metric; `None` where none does."""
        return next((gate for gate in self._of(group) if gate_decides(gate.protocol, group.protocol)), None)

    def beside(self, group: Group) -> Group | None:
        """Our gate, where it does not decide."""
        return next((gate for gate in self._of(group) if gate.protocol is None), None)

    def _of(self, group: Group) -> Sequence[Group]:
        known = self._gates.get((group.model, group.subset), ())
        return known if group.is_consistency and not group.is_gate else ()


def _labelled(gated: Gated, *, combines: bool) -> Gated:
    return replace(gated, label=TRIGGERED) if combines else replace(gated, combined=None, label=TESTED)


def _has_no_judge(gate: Group) -> bool:
    return gate.reasons.get(Reason.NO_JUDGE.value) == gate.asked


def _gated_reasons(group: Group, gate: Group, passed: Group) -> dict[str, int]:
    judged = set(gate.rollouts)
    closed = sum(rollout in judged for rollout in group.rollouts) - len(passed.rollouts)
    return {
        **group.reasons,
        **({Reason.GATE_CLOSED.value: closed} if closed else {}),
        **({"gate failed": gate.failures} if gate.failures else {}),
        **{f"gate {reason}": count for reason, count in gate.reasons.items()},
    }
