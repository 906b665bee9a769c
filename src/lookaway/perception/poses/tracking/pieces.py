"""Joins the pieces of a path where the chain of frames breaks, if the camera goes on as it did and edges agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import ModuleType

import numpy as np
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

from lookaway.core import Floats, Json
from lookaway.perception.poses.tracking.settings import JoinSettings, TrackerSettings
from lookaway.perception.poses.tracking.sightings import Sighting


@dataclass(frozen=True, slots=True)
class Break:
    """Two frames in succession that no points link."""

    before: int
    after: int
    """Frames of the video."""
    degrees: float
    """How far the camera turns in between, as it is joined."""
    velocities_differ: float
    """By which part of the larger one the angular velocities on both sides differ; 0 where both are those of rest."""
    edges_agree: float
    """Correlation of the edges of both frames."""
    is_extrapolated: bool
    """Whether the two pieces are joined here, by the camera's velocity, and not at another break."""

    def describe(self) -> dict[str, Json]:
        """As part of the detail of a path."""
        return {
            "before": self.before,
            "after": self.after,
            "degrees": self.degrees,
            "velocities_differ": self.velocities_differ,
            "edges_agree": self.edges_agree,
            "extrapolated": self.is_extrapolated,
        }


class NotJoined(Exception):
    """Two pieces cannot be joined, and why."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pieces:
    """Poses of a path that breaks; each piece has axes and a unit of its own."""

    poses: dict[int, Floats]
    """[4, 4] camera to world of each frame."""
    depths: dict[int, float]
    """Median depth of each of these frames."""
    numbers: dict[int, int]
    """The piece of each of these frames."""
    focal: float
    known: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """[P, 2] points in pixels and [P] their depths, of frames in a piece that moves."""


@dataclass(frozen=True, slots=True, eq=False)
class _Velocity:
    """Per frame of the video, in the axes of the camera at the break."""

    turn: Floats
    """[3] radians."""
    way: Floats
    """[3] in the unit of its piece."""

    def scaled(self, factor: float) -> _Velocity:
        return replace(self, way=self.way * factor)


@dataclass(slots=True, eq=False)
class _Joining:
    """Which pieces have a place, in the axes and unit of the first one."""

    pieces: Pieces
    axes: dict[int, Floats]
    """[4, 4]"""
    units: dict[int, float]

    def pose(self, place: int) -> Floats:
        """[4, 4]"""
        number = self.pieces.numbers[place]
        return self.axes[number] @ _in_unit(self.pieces.poses[place], self.units[number])

    def depth(self, place: int) -> float:
        return self.units[self.pieces.numbers[place]] * self.pieces.depths[place]

    def add(self, place: int, pose: Floats, unit: float) -> None:
        """Give a place to the piece of a frame, of which the pose is known."""
        number = self.pieces.numbers[place]
        self.units[number] = unit
        self.axes[number] = pose @ np.linalg.inv(_in_unit(self.pieces.poses[place], unit))


def join_pieces(
    cv2: ModuleType, pieces: Pieces, sightings: Sequence[Sighting], settings: TrackerSettings
) -> tuple[Pieces, tuple[Break, ...]]:
    """All poses in the axes and unit of the first frame, the camera going on as it did over every break.

    A piece is joined where it first follows on another one in time. Where it does so again, as on a way back, the break
    is listed with the turn that then lies between the two frames.
    """
    frames = {place: sightings[place].frame for place in pieces.poses}
    first = pieces.numbers[min(frames)]
    joining = _Joining(pieces, {first: np.eye(4)}, {first: 1.0})
    breaks = []
    for before, after in _breaks(pieces):
        between, gap = (frames[before], frames[after]), frames[after] - frames[before]
        ratio = _ratio_of_units(pieces, sightings, before, after, settings.joins)
        sides = [
            (_velocity(pieces, frames, before, -steps), _velocity(pieces, frames, after, steps).scaled(ratio))
            for steps in settings.joins.steps
        ]
        problems = [_not_constant(*side, pieces.depths[before], between, settings) for side in sides]
        one, two = next((side for side, problem in zip(sides, problems, strict=True) if not problem), sides[0])
        if is_new := pieces.numbers[after] not in joining.axes:
            if all(problems):
                raise NotJoined(problems[0])
            unit = joining.units[pieces.numbers[before]]
            step = np.eye(4)
            step[:3, :3] = Rotation.from_rotvec((one.turn + two.turn) / 2 * gap).as_matrix()
            step[:3, 3] = unit * (one.way + two.way) / 2 * gap
            joining.add(after, joining.pose(before) @ step, unit * ratio)
        motion = np.linalg.inv(joining.pose(before)) @ joining.pose(after)
        motion[:3, 3] /= joining.depth(after)
        agreement = sightings[before].outline.agreement(
            cv2, sightings[after].outline, motion, pieces.focal, settings.outline
        )
        if is_new and agreement < settings.joins.min_edges:
            raise NotJoined(
                f"the edges of frames {between[0]} and {between[1]} correlate by {agreement:.2f}, expected "
                f"{settings.joins.min_edges:g}: they are likely to show different places"
            )
        still = np.radians(settings.still_degrees) / gap
        angle = float(np.degrees(Rotation.from_matrix(motion[:3, :3]).magnitude()))
        breaks.append(Break(*between, angle, _difference(one.turn, two.turn, still), agreement, is_new))
    placed = {place: joining.pose(place) for place in pieces.poses}
    depths = {place: joining.depth(place) for place in pieces.poses}
    return replace(pieces, poses=placed, depths=depths), tuple(breaks)


def _breaks(pieces: Pieces) -> list[tuple[int, int]]:
    places = sorted(pieces.poses)
    return [(before, after) for before, after in pairwise(places) if pieces.numbers[before] != pieces.numbers[after]]


def _in_unit(pose: Floats, unit: float) -> Floats:
    scaled = pose.copy()
    scaled[:3, 3] *= unit
    return scaled


def _velocity(pieces: Pieces, frames: Mapping[int, int], place: int, steps: int) -> _Velocity:
    """On one side of a break: over so many steps from there on, or up to there where they are negative."""
    own = [other for other in sorted(pieces.poses) if pieces.numbers[other] == pieces.numbers[place]]
    number = own.index(place)
    side = own[max(0, number + steps) : number + 1] if steps < 0 else own[number : number + steps + 1]
    if len(side) < 2:
        raise NotJoined(f"one frame alone, {frames[place]}, does not tell how the camera moves")
    first, last = (pieces.poses[side[end]] for end in (0, -1))
    duration = frames[side[-1]] - frames[side[0]]
    turn = Rotation.from_matrix(first[:3, :3].T @ last[:3, :3]).as_rotvec()
    way = pieces.poses[place][:3, :3].T @ (last[:3, 3] - first[:3, 3])
    return _Velocity(turn / duration, way / duration)


def _ratio_of_units(
    pieces: Pieces, sightings: Sequence[Sighting], before: int, after: int, settings: JoinSettings
) -> float:
    """The unit of the piece after a break in that of the piece before it, by the depths of points near each other."""
    by_medians = pieces.depths[before] / pieces.depths[after]
    if before not in pieces.known or after not in pieces.known:
        return by_medians
    (points_1, depths_1), (points_2, depths_2) = pieces.known[before], pieces.known[after]
    distances, nearest = KDTree(points_1).query(points_2)
    is_near = (distances < settings.nearby * sightings[after].outline.width) & (depths_1[nearest] > 0) & (depths_2 > 0)
    if is_near.sum() < settings.min_nearby:
        return by_medians
    return float(np.exp(np.median(np.log(depths_1[nearest[is_near]]) - np.log(depths_2[is_near]))))


def _difference(one: Floats, two: Floats, still: float) -> float:
    """By which part of the larger one two velocities differ; 0 where they differ by less than a camera at rest."""
    difference = float(np.linalg.norm(one - two))
    if difference < still:
        return 0.0
    return difference / max(float(np.linalg.norm(one)), float(np.linalg.norm(two)))


def _not_constant(
    one: _Velocity, two: _Velocity, depth: float, between: tuple[int, int], settings: TrackerSettings
) -> str:
    """Why the camera neither rests on both sides nor turns and moves alike; the way is compared in median depths."""
    gap = between[1] - between[0]
    for name, first, second, still in (
        ("angular velocities", one.turn, two.turn, np.radians(settings.still_degrees)),
        ("velocities", one.way / depth, two.way / depth, settings.joins.still_depths),
    ):
        change = _difference(first, second, still / gap)
        if change > settings.joins.max_change:
            return (
                f"the camera's {name} before frame {between[0]} and after frame {between[1]} differ by {change:.0%}; "
                f"up to {settings.joins.max_change:.0%} counts as constant"
            )
    return ""
