"""The values of a run that count, by model, metric and subset: those of rollouts that were put to the test."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from lookaway.engine.run import Run
from lookaway.store.run_folder import RunFolder


class Place(NamedTuple):
    """Where values belong."""

    model: str
    metric: str
    subset: str


@dataclass(slots=True)
class CountedValues:
    """What one metric gave for the rollouts of one model and subset: columns, for there may be many."""

    rollouts: list[str] = field(default_factory=list)
    cases: list[str] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)
    scenes: list[str] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)
    """`None` where there is no score, or where the rollout was not put to the test."""

    def scored(self) -> tuple[list[float], list[str]]:
        """The values there are, and their scenes."""
        known = [(value, scene) for value, scene in zip(self.values, self.scenes, strict=True) if value is not None]
        return [value for value, _ in known], [scene for _, scene in known]


def counted_values(run: Run, models: Collection[str] | None = None) -> dict[Place, CountedValues]:
    """Values of some models, or of all, in the order of rollouts; those that a gate did not let pass do not count."""
    found: dict[Place, CountedValues] = {}
    for row in run.items():
        if models is None or row["model"] in models:
            column = found.setdefault(Place(row["model"], row["metric"], row["subset"]), CountedValues())
            column.rollouts.append(row["rollout"])
            column.cases.append(row["case"])
            column.seeds.append(row["seed"])
            column.scenes.append(row["scene"])
            column.values.append(row["value"] if row["status"] == "score" else None)
    gates = {metric.name for metric in run.metrics if metric.is_gate}
    for gate in [place for place in found if place.metric in gates]:
        _close(gate, found, gates)
    return found


def _close(gate: Place, found: dict[Place, CountedValues], gates: Collection[str]) -> None:
    column = found[gate]
    if all(value is None for value in column.values):
        return  # nobody was judged: the suite's table is of plain means, too
    is_open = {rollout for rollout, value in zip(column.rollouts, column.values, strict=True) if value == 1.0}
    for place, gated in found.items():
        if (place.model, place.subset) == (gate.model, gate.subset) and place.metric not in gates:
            gated.values = [
                value if rollout in is_open else None
                for rollout, value in zip(gated.rollouts, gated.values, strict=True)
            ]


def run_models(run: Run) -> list[str]:
    """Models that the run asked, in order of their names."""
    return sorted(set(_rollouts(run, "model").column("model").to_pylist()))


def run_videos(run: Run) -> dict[str, str]:
    """The video of every rollout."""
    table = _rollouts(run, "rollout", "video")
    return dict(zip(table.column("rollout").to_pylist(), table.column("video").to_pylist(), strict=True))


def _rollouts(run: Run, *columns: str) -> pa.Table:
    return RunFolder(run.path).rollouts(columns)
