"""The scores of a run of MemoBench, one record for each rollout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from lookaway.core import Estimate, UserError
from lookaway.engine.run import Run
from lookaway.statistics.intervals import UNBOUNDED, Range, mean_estimates
from lookaway.statistics.scene_bootstrap import named_scene_sums
from lookaway.store.run_folder import RunFolder

SUITE: Final = "memobench"
MOTION_GATE: Final = f"{SUITE}.motion_gate"
"""The published gate: whether the camera of the reference turned far enough."""
REVISITED: Final = f"{SUITE}.revisited"
"""Whether the camera of the generated video turned away and came back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRollout:
    """One rollout and all its scores."""

    id: str
    model: str
    case: str
    subset: str
    scene: str
    values: dict[str, float] = field(default_factory=dict)
    """By metric; those without a score are not there."""

    def passes(self, gate: str | None) -> bool:
        """Whether a gate is known to keep it; every rollout passes no gate."""
        return gate is None or self.values.get(gate) == 1.0


def require_memobench(run: Run) -> None:
    """Refuse runs of other suites."""
    if (suite := run.about["suite"]) != SUITE:
        raise UserError(f"{run.path} is a run of {suite!r}; this is for runs of {SUITE!r}.")


def scored_rollouts(run: Run) -> list[ScoredRollout]:
    """Every rollout of the run, in the order of models and cases, also those that have no score."""
    found = {
        row["rollout"]: ScoredRollout(
            id=row["rollout"], model=row["model"], case=row["case"], subset=row["subset"], scene=row["scene"]
        )
        for row in RunFolder(run.path).rollouts().to_pylist()
    }
    for row in run.items():
        if row["status"] == "score":
            found[row["rollout"]].values[row["metric"]] = row["value"]
    return sorted(found.values(), key=lambda rollout: (rollout.model, rollout.subset, rollout.case, rollout.id))


def counted_gate(run: Run, *, ignore_gates: bool) -> str | None:
    """The gate that decides which rollouts count: none on demand, and none where a run has no gate."""
    is_gated = any(metric.name == REVISITED for metric in run.metrics)
    return REVISITED if is_gated and not ignore_gates else None


def by_model(rollouts: Sequence[ScoredRollout]) -> Iterator[tuple[str, str, list[ScoredRollout]]]:
    """The rollouts of each model and subset."""
    parts: dict[tuple[str, str], list[ScoredRollout]] = {}
    for rollout in rollouts:
        parts.setdefault((rollout.model, rollout.subset), []).append(rollout)
    for (model, subset), own in parts.items():
        yield model, subset, own


def mean_scores(
    samples: Sequence[tuple[str, Sequence[ScoredRollout]]], ranges: Mapping[str, Range]
) -> list[Estimate | None]:
    """The mean of a metric over rollouts that have a score of it, for each sample, clustered by scene."""
    counted = [(metric, [rollout for rollout in own if metric in rollout.values]) for metric, own in samples]
    sums = [
        named_scene_sums(np.array([rollout.values[metric] for rollout in own]), [rollout.scene for rollout in own])
        for metric, own in counted
    ]
    return list(mean_estimates(sums, [ranges.get(metric, UNBOUNDED) for metric, _ in counted]))
