"""The progress of a run in words."""

from __future__ import annotations

from lookaway.engine.effort import IDLE
from lookaway.engine.session import Progress
from lookaway.reports.numbers import duration
from lookaway.reports.pace import Pace

SHOWN_STAGES = 3
"""Those that take most of the time."""


def pace_parts(progress: Progress, pace: Pace, seconds: float) -> list[str]:
    """Rollouts a second and the time that is left, as far as they are known."""
    rate, left = pace.per_second(seconds), pace.seconds_left(progress.total, seconds)
    if rate is None or left is None:
        return []
    speed = f"{rate:.3g} rollouts/s" if rate >= 1 else f"{duration(1 / rate)} per rollout"
    return [speed, f"about {duration(left)} left"]


def stage_parts(progress: Progress) -> list[str]:
    """What takes most of the workers' time, each with its part of it and its speed; what was kept, what was retried."""
    stages = [(name, stage) for name, stage in progress.effort.stages.items() if name not in IDLE and stage.seconds > 0]
    whole = sum(stage.seconds for _, stage in stages)
    slowest = sorted(stages, key=lambda entry: -entry[1].seconds)[:SHOWN_STAGES]
    parts = []
    for name, stage in slowest:
        speed = f" at {stage.frames / stage.seconds:.3g} frames/s" if stage.frames else ""
        parts.append(f"{name} {stage.seconds / whole:.0%}{speed}")
    kept = progress.effort.kept
    parts += [f"{kept} features kept"] if kept else []
    parts += [f"{progress.retries} batches retried"] if progress.retries else []
    return [*parts, *([f"Ray dashboard {progress.dashboard}"] if progress.dashboard else [])]
