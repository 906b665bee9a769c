"""Camera paths for tests: wandering ones, what can be done to them, and how metrics compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookaway.core import Case, Metric, Outcome, Rollout
from tests.metrics.two_view_scenes import elsewhere
from tests.support.room import trajectory

Floats = NDArray[np.floating[Any]]


def wandering(frames: int = 97, seed: int = 0) -> Floats:
    """[N, 4, 4] camera to world: a smooth walk through space that turns about all axes."""
    rng = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.03, (frames, 3)), axis=0))
    path = np.tile(np.eye(4), (frames, 1, 1))
    path[:, :3, :3] = turns.as_matrix()
    path[:, :3, 3] = np.cumsum(rng.normal(0.02, 0.05, (frames, 3)), axis=0)
    return path


def placed(centres: Floats) -> Floats:
    """[N, 4, 4] cameras that do not turn, at given places."""
    path = np.tile(np.eye(4), (len(centres), 1, 1))
    path[:, :3, 3] = centres
    return path


def still(frames: int = 97, centre: tuple[float, float, float] = (0.1, -0.7, 3.3)) -> Floats:
    """[N, 4, 4] a camera that neither moves nor turns."""
    return placed(np.tile(centre, (frames, 1)))


def drifting(path: Floats, degrees: float, axis: tuple[float, float, float] = (0, 0.6, 0.8)) -> Floats:
    """The same path, with every step turning by some degrees too many."""
    bias = Rotation.from_rotvec(np.radians(degrees) * np.array(axis)).as_matrix()
    steps = np.linalg.inv(path[:-1]) @ path[1:]
    wrong = [path[0]]
    for step in steps:
        step[:3, :3] = step[:3, :3] @ bias
        wrong.append(wrong[-1] @ step)
    return np.array(wrong)


TRUE = wandering()
NOISY = elsewhere(drifting(TRUE, 0.3), scale=2.5)
"""The true path with a bias, in a world of its own."""


def compare(
    metric: Metric,
    estimated: Floats,
    true: Floats = TRUE,
    *,
    controls: Sequence[str] | None = None,
    timing: Mapping[str, Any] | None = None,
    true_timing: Mapping[str, Any] | None = None,
) -> Outcome:
    """What a metric of camera motion says; `timing` is which frames have poses."""
    case = Case(id="walk", subset="all", scene="walk", controls=None if controls is None else tuple(controls))
    rollout = Rollout(case=case, model="model", video=Path("clip.mp4"))
    features = {
        "poses": trajectory(estimated, **(timing or {})).to_feature(),
        "reference_poses": trajectory(true, **(true_timing or {})).to_feature(),
    }
    return metric.measure(rollout, features)
