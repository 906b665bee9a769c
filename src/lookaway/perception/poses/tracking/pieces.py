"""Joins the pieces of a path where the chain of frames breaks, if the camera merely turns on both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Json
from lookaway.perception.poses.tracking.camera_path import STILL_DEGREES
from lookaway.perception.poses.tracking.sightings import Sighting
from lookaway.perception.poses.tracking.turning import Turning

STEPS = 4
"""Steps on either side of a break that its angular velocity is taken from."""
MAX_CHANGE = 0.5
"""Velocities before and after a break differ by at most this part of the larger one; it is not constant else."""


@dataclass(frozen=True, slots=True)
class Break:
    """Two frames in succession that no points link."""

    before: int
    after: int
    """Frames of the video."""
    degrees: float
    """How far the camera turns in between, as it is joined."""
    velocities_differ: float
    """By which part of the larger one the angular velocities on both sides differ."""

    def describe(self) -> dict[str, Json]:
        """As part of the detail of a path."""
        return {
            "before": self.before,
            "after": self.after,
            "degrees": self.degrees,
            "velocities_differ": self.velocities_differ,
        }


class NotJoined(Exception):
    """Two pieces cannot be joined, and why."""


def join_pieces(turning: Turning, sightings: Sequence[Sighting]) -> tuple[Turning, tuple[Break, ...]]:
    """All rotations in the axes of the first frame, the camera going on turning as it did over every break.

    A piece is joined where it first follows on another one in time. Where it does so again, as on a way back, the break
    is listed with the turn that then lies between the two frames.
    """
    frames = {place: sightings[place].frame for place in turning.rotations}
    placed: dict[int, Floats] = {turning.pieces[min(frames)]: np.eye(3)}
    breaks = []
    for before, after in _breaks(turning):
        start, end = turning.pieces[before], turning.pieces[after]
        one, two = _velocity(turning, frames, before, -1), _velocity(turning, frames, after, 1)
        gap, change = frames[after] - frames[before], _difference(one, two)
        if end not in placed:
            fastest = gap * max(float(np.linalg.norm(one)), float(np.linalg.norm(two)))
            _check(float(np.degrees(fastest)), change, frames[before], frames[after])
            turn = Rotation.from_rotvec((one + two) / 2 * gap).as_matrix()
            placed[end] = placed[start] @ turning.rotations[before] @ turn @ turning.rotations[after].T
        first, second = (placed[turning.pieces[place]] @ turning.rotations[place] for place in (before, after))
        angle = float(np.degrees(Rotation.from_matrix(first.T @ second).magnitude()))
        breaks.append(Break(frames[before], frames[after], angle, change))
    rotations: dict[int, Floats] = {
        place: placed[turning.pieces[place]] @ rotation for place, rotation in turning.rotations.items()
    }
    return replace(turning, rotations=rotations), tuple(breaks)


def _breaks(turning: Turning) -> list[tuple[int, int]]:
    places = sorted(turning.rotations)
    return [(before, after) for before, after in pairwise(places) if turning.pieces[before] != turning.pieces[after]]


def _velocity(turning: Turning, frames: Mapping[int, int], place: int, direction: int) -> Floats:
    """[3] radians per frame of the video, in the camera's axes, on one side of a break."""
    own = [other for other in sorted(turning.rotations) if turning.pieces[other] == turning.pieces[place]]
    number = own.index(place)
    side = own[max(0, number - STEPS) : number + 1] if direction < 0 else own[number : number + STEPS + 1]
    if len(side) < 2:
        raise NotJoined(f"one frame alone, {frames[place]}, does not tell how the camera turns")
    turn = Rotation.from_matrix(turning.rotations[side[0]].T @ turning.rotations[side[-1]])
    return np.asarray(turn.as_rotvec() / (frames[side[-1]] - frames[side[0]]))


def _difference(one: Floats, two: Floats) -> float:
    """By which part of the larger one two velocities differ."""
    larger = max(float(np.linalg.norm(one)), float(np.linalg.norm(two)), 1e-12)
    return float(np.linalg.norm(one - two)) / larger


def _check(degrees: float, change: float, before: int, after: int) -> None:
    if degrees < STILL_DEGREES:
        raise NotJoined(f"the camera stands still where the picture changes, between frames {before} and {after}")
    if change > MAX_CHANGE:
        raise NotJoined(
            f"the camera's angular velocities before frame {before} and after frame {after} differ by {change:.0%}; "
            f"up to {MAX_CHANGE:.0%} counts as constant"
        )
