"""What of a run of MemoBench counts, and its means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from lookaway.core import Estimate
from lookaway.engine.run import Run
from lookaway.reports.scored_rollouts import ScoredRollout
from lookaway.statistics.intervals import UNBOUNDED, Range, mean_estimates
from lookaway.statistics.scene_bootstrap import named_scene_sums

SUITE: Final = "memobench"
MOTION_GATE: Final = f"{SUITE}.motion_gate"
"""The published gate: whether the camera of the reference turned far enough."""
REVISITED: Final = f"{SUITE}.revisited"
"""Whether the camera of the generated video turned away and came back."""


CORRECTED: Final = f"{SUITE}.corrected"
"""Begins the names of repaired metrics."""


def counted_gate(run: Run, prefix: str) -> str | None:
    """The gate that decides which rollouts count: for repaired metrics alone, where the run has it."""
    is_gated = prefix == CORRECTED and any(metric.name == REVISITED for metric in run.metrics)
    return REVISITED if is_gated else None


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
