"""Runs whose every frame has a value that the test chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lookaway.core import Json, Score, Unit
from lookaway.engine.run import Run
from tests.support.hand_made import hand_made_run

STYLE, SUBSET = "mbencha.environment.rendering_style", "environment"
"""From 0 to 1, higher is better."""


def framed(values: Sequence[float]) -> Score:
    """A score with one unit a frame."""
    units = tuple(Unit(f"f{frame}", Score(float(value))) for frame, value in enumerate(values))
    return Score(sum(map(float, values)) / len(values), units=units)


def drifting_run(
    path: Path,
    curves: Mapping[str, Sequence[Sequence[float]]],
    *,
    kind: str = "rendering_style",
    features: Mapping[str, Json] | None = None,
) -> Run:
    """By model, the values of each of its rollouts, every one of a scene of its own."""
    outcomes = {
        (model, f"s{number}"): framed(values)
        for model, rollouts in curves.items()
        for number, values in enumerate(rollouts)
    }
    lock = {"metrics": {STYLE: {"metric": {"kind": kind}, "features": dict(features or {})}}}
    return hand_made_run(path, "mbench-a", {STYLE: outcomes}, lock)
