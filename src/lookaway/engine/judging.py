"""Sets the judge of the metrics that need one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lookaway.core import BoundMetric, JudgeExtractor, JudgeModel, JudgeUnusable, UserError
from lookaway.engine.binding import Overrides
from lookaway.engine.feature_job import with_needs
from lookaway.judges.settings import JudgeSettings


def asks_judge(metrics: Sequence[BoundMetric]) -> bool:
    """Whether any feature of any metric needs a judge."""
    recipes = with_needs(recipe for bound in metrics for recipe in bound.recipes.values())
    return any(isinstance(recipe, JudgeExtractor) for recipe in recipes)


def without_gates(metrics: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
    """The metrics that are not gates."""
    return tuple(bound for bound in metrics if not bound.is_gate)


def require_trigger(metrics: tuple[BoundMetric, ...]) -> None:
    """Refuse to ignore triggers where there is none, rather than to do nothing."""
    if not any(bound.is_gate and bound.protocol is not None for bound in metrics):
        raise UserError(
            "--ignore-trigger: these metrics have no trigger of a publication. Published numbers count every rollout "
            "as it is; leave it out."
        )


def without_judged_gates(metrics: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
    """The metrics that are not gates that need a judge."""
    return tuple(bound for bound in metrics if not (bound.is_gate and asks_judge([bound])))


def with_judge(metrics: tuple[BoundMetric, ...], settings: JudgeSettings, run: Path) -> tuple[BoundMetric, ...]:
    """The metrics with the models that the judges report, which the lock records; sends each a probe."""
    gate = None if settings.gate is None else settings.gate.identify(run)
    return _worded(Overrides(judge=settings.identify(run), gate_judge=gate).apply(metrics), settings)


def with_planned_judge(
    metrics: tuple[BoundMetric, ...], settings: JudgeSettings, run: Path | None
) -> tuple[BoundMetric, ...]:
    """The metrics with the models that the judges reported last, or else the requested ones. No judge is asked."""
    gate = None if settings.gate is None else _planned(settings.gate, run)
    return _worded(Overrides(judge=_planned(settings, run), gate_judge=gate).apply(metrics), settings)


def _worded(metrics: tuple[BoundMetric, ...], settings: JudgeSettings) -> tuple[BoundMetric, ...]:
    return metrics if settings.prompts is None else settings.prompts.replace_in(metrics)


def _planned(settings: JudgeSettings, run: Path | None) -> JudgeModel:
    try:
        return replace(settings, is_replay=True).identify(run or Path())
    except JudgeUnusable:
        return settings.model
