"""Brings a judge to the metrics that ask one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lookaway.core import BoundMetric, JudgeExtractor, JudgeModel, JudgeUnusable
from lookaway.engine.binding import Overrides
from lookaway.engine.feature_job import with_needs
from lookaway.judges.settings import JudgeSettings


def asks_judge(metrics: Sequence[BoundMetric]) -> bool:
    """Whether any feature of any metric is what a judge says."""
    recipes = with_needs(recipe for bound in metrics for recipe in bound.recipes.values())
    return any(isinstance(recipe, JudgeExtractor) for recipe in recipes)


def without_gates(metrics: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
    """The metrics that say how a rollout did."""
    return tuple(bound for bound in metrics if not bound.is_gate)


def with_judge(metrics: tuple[BoundMetric, ...], settings: JudgeSettings, run: Path) -> tuple[BoundMetric, ...]:
    """The metrics with the judge as it names itself, which the lock will hold; asks it one question."""
    return Overrides(judge=settings.introduced(run)).apply(metrics)


def planned_judge(settings: JudgeSettings, run: Path | None) -> JudgeModel:
    """The judge as it named itself when it was last asked; as it is called where it never was. Asks nobody."""
    try:
        return replace(settings, is_replay=True).introduced(run or Path())
    except JudgeUnusable:
        return settings.model
