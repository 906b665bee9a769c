"""Points of space seen from known cameras: matches without images, exact to rounding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookaway.core import Case, Feature, Rollout, Trajectory

Floats = NDArray[np.floating[Any]]


def rollout(*, action: str | None = None, prompt: tuple[str, ...] = ()) -> Rollout:
    """A rollout of which only the case matters."""
    case = Case(id="room", subset="environment", scene="room", action=action, prompt=prompt)
    return Rollout(case=case, model="model", video=Path("clip.mp4"))


def seen(points: Floats, camera_to_world: Floats, intrinsics: Floats) -> Floats:
    """Pixels at which points of the world are seen."""
    projected = (points - camera_to_world[:3, 3]) @ camera_to_world[:3, :3] @ intrinsics.T
    return np.asarray(projected[:, :2] / projected[:, 2:])


def world_points(trajectory: Trajectory, frame: int, count: int, seed: int = 0) -> Floats:
    """Points spread over what one frame sees, two to six metres away."""
    rng = np.random.default_rng(seed)
    pixels = rng.uniform(0.1, 0.9, (count, 2)) * (trajectory.width, trajectory.height)
    rays = np.column_stack([pixels, np.ones(count)]) @ np.linalg.inv(trajectory.intrinsics[frame]).T
    matrix = trajectory.camera_to_world[frame]
    return np.asarray(rays * rng.uniform(2, 6, (count, 1)) @ matrix[:3, :3].T + matrix[:3, 3])


def matches(trajectory: Trajectory, pairs: list[tuple[int, int]], *, count: int = 40) -> Feature:
    """The feature that a perfect matcher would give."""
    firsts, seconds = [], []
    for number, (first, second) in enumerate(pairs):
        points = world_points(trajectory, first, count, seed=number)
        firsts.append(seen(points, trajectory.camera_to_world[first], trajectory.intrinsics[first]))
        seconds.append(seen(points, trajectory.camera_to_world[second], trajectory.intrinsics[second]))
    arrays = {
        "pairs": np.array(pairs),
        "points_1": np.concatenate(firsts),
        "points_2": np.concatenate(seconds),
        "offsets": np.arange(len(pairs) + 1) * count,
        "points": np.full((len(pairs), 2), 2 * count),
        "size": np.array([trajectory.width, trajectory.height]),
    }
    return Feature(arrays, {"rule": "fold"})


def elsewhere(path: Floats, *, scale: float = 7.3) -> Floats:
    """The same camera path in a world that is turned, moved and in another unit of length."""
    turn = Rotation.from_euler("xyz", [25, -70, 140], degrees=True).as_matrix()
    moved = np.array(path)
    moved[:, :3, :3] = turn @ path[:, :3, :3]
    moved[:, :3, 3] = scale * path[:, :3, 3] @ turn.T + (3, -20, 11)
    return moved


def turned(path: Floats, degrees: float, *, axis: tuple[float, float, float] = (1, 0, 0)) -> Floats:
    """The same path with the camera of its second half turned about one of its own axes: a pose error."""
    wrong = np.array(path)
    half = len(path) // 2
    wrong[half:, :3, :3] = path[half:, :3, :3] @ Rotation.from_rotvec(np.radians(degrees) * np.array(axis)).as_matrix()
    return wrong
