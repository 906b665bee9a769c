"""A camera path taken apart: steps along six axes, and legs in which the camera moves one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats

Axis: TypeAlias = Literal["yaw", "pitch", "roll", "right", "up", "forward"]
"""Yaw is positive to the right, pitch upwards, roll clockwise; degrees, and units of the request."""
AXES: Final[tuple[Axis, ...]] = get_args(Axis)
TURNS: Final[tuple[Axis, ...]] = ("yaw", "pitch", "roll")
LEAST_TURN_DEGREES, LEAST_MOVE = 0.1, 0.005
"""Smaller totals of a leg are noise."""
LEAST_SHARE: Final = 0.05
"""Share of the largest total of its kind in a leg: an arc also moves a little forward."""
LEAST_STEP: Final = 0.02
"""Share of the largest step of its axis: a camera that eases in does not stand still."""


@dataclass(frozen=True, slots=True)
class Leg:
    """Consecutive frames in which the camera keeps its directions; without any, it stands still."""

    start: int
    """The frame from which it leads."""
    stop: int
    """The frame to which it leads."""
    amounts: Mapping[Axis, float]

    @property
    def is_hold(self) -> bool:
        """Whether the camera stands still."""
        return not self.amounts


def local_steps(poses: Floats) -> Floats:
    """[F-1, 6] from each pose to the next, along the axes of the earlier camera."""
    relative = np.linalg.inv(poses[:-1]) @ poses[1:]
    turns = Rotation.from_matrix(relative[:, :3, :3]).as_euler("YXZ", degrees=True)
    moves = relative[:, :3, 3]
    return np.column_stack([turns, moves[:, 0], -moves[:, 1], moves[:, 2]])


def step(axis: Axis, amount: float) -> Floats:
    """[4, 4] of one step along an axis of the camera."""
    pose = np.eye(4)
    if axis in TURNS:
        pose[:3, :3] = Rotation.from_euler("YXZ"[TURNS.index(axis)], amount, degrees=True).as_matrix()
    else:
        column, sign = {"right": (0, 1.0), "up": (1, -1.0), "forward": (2, 1.0)}[axis]
        pose[column, 3] = sign * amount
    return pose


def legs_of(poses: Floats) -> list[Leg]:
    """The legs of a path, in order."""
    steps = local_steps(poses)
    largest = np.abs(steps).max(axis=0)
    least = np.maximum(LEAST_STEP * largest, [1e-3] * 3 + [1e-5] * 3)
    signs = np.where(steps > least, 1, np.where(steps < -least, -1, 0))
    bounds = [0, *(np.flatnonzero((signs[1:] != signs[:-1]).any(axis=1)) + 1).tolist(), len(steps)]
    raw = [Leg(start, stop, _amounts(steps[start:stop].sum(axis=0))) for start, stop in pairwise(bounds)]
    return _merged(raw)


def _amounts(totals: Floats) -> dict[Axis, float]:
    found: dict[Axis, float] = {}
    for kind, floor in ((slice(0, 3), LEAST_TURN_DEGREES), (slice(3, 6), LEAST_MOVE)):
        least = max(floor, LEAST_SHARE * float(np.abs(totals[kind]).max()))
        for axis, total in zip(AXES[kind], totals[kind].tolist(), strict=True):
            if abs(total) >= least:
                found[axis] = total
    return found


def _merged(legs: Sequence[Leg]) -> list[Leg]:
    """Neighbours with the same directions as one leg."""
    found: list[Leg] = []
    for leg in legs:
        if found and _directions(found[-1]) == _directions(leg):
            last = found.pop()
            amounts = {axis: total + leg.amounts[axis] for axis, total in last.amounts.items()}
            leg = Leg(last.start, leg.stop, amounts)
        found.append(leg)
    return found


def _directions(leg: Leg) -> dict[Axis, bool]:
    return {axis: amount > 0 for axis, amount in leg.amounts.items()}


def moved_axes(legs: Sequence[Leg]) -> tuple[Axis, ...]:
    """The axes along which a path moves at all."""
    return tuple(axis for axis in AXES if any(axis in leg.amounts for leg in legs))
