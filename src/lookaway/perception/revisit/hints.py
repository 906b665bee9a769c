"""Hints at how a place changed: things that moved, that were copied, or that were carried along by the camera."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Mask, Pixels, Trajectory
from lookaway.perception.revisit.alignment import Alignment, View, moved_points, warp
from lookaway.perception.revisit.change_map import CHANGED, MIN_BLOB, difference_map, keep_blobs, light_change

MOVED = 0.03
"""Frame heights; a matched point that is farther off its place has moved."""
NEAR, ALIKE = 0.15, 0.04
"""Frame heights between points, and between their ways, of one thing."""
MIN_POINTS = 3
"""So many points that went one way together are a thing."""
RATIO = 0.8
WEIGHTS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
"""How far a thing may follow the camera: 0 stays in its place, 1 stays in the picture."""
MIN_SEEN = 0.15
"""Part of the picture that two frames must have in common for a carried thing to be looked for."""


def count_moved(alignment: Alignment, height: int) -> int:
    """Matched points that went another way than the view, in groups."""
    errors = moved_points(alignment.homography, alignment.columns) - alignment.rows
    is_off = np.linalg.norm(errors, axis=1) > MOVED * height
    expected = moved_points(np.linalg.inv(alignment.homography), alignment.rows[is_off])
    found = alignment.columns[is_off]
    return int(_goes_along(found, found - expected, height).sum())


def count_copied(first: View, second: View, alignment: Alignment, changed: Mask) -> int:
    """Points in changed places that look like a point of the first visit whose own place is unchanged, in groups."""
    at = second.points[_at(changed, second.points)]
    seen = second.descriptors[_at(changed, second.points)]
    if len(at) == 0 or len(first.points) < 2:
        return 0
    distances = 2 - 2 * seen @ first.descriptors.T
    nearest = distances.argmin(axis=1)
    two = np.partition(distances, 1, axis=1)[:, :2]
    is_clear = two[:, 0] < RATIO**2 * two[:, 1]
    origin = moved_points(np.linalg.inv(alignment.homography), first.points[nearest])
    height = second.size[1]
    is_far = np.linalg.norm(at - origin, axis=1) > MOVED * height
    kept = is_clear & is_far
    at, origin = at[kept], origin[kept]
    return int((_goes_along(at, at - origin, height) & ~_at(changed, origin)).sum())


def _goes_along(points: Floats, ways: Floats, height: int) -> Mask:
    """Which points have others near them that went the same way."""
    near = np.linalg.norm(points[:, None] - points[None], axis=-1) < NEAR * height
    alike = np.linalg.norm(ways[:, None] - ways[None], axis=-1) < ALIKE * height
    return np.asarray((near & alike).sum(axis=1) >= MIN_POINTS)


def _at(mask: Mask, points: Floats) -> NDArray[np.bool_]:
    columns, rows = (np.clip(points[:, axis].astype(int), 0, mask.shape[1 - axis] - 1) for axis in (0, 1))
    return np.asarray(mask[rows, columns])


@dataclass(frozen=True, slots=True)
class Carried:
    """What left its place together with a turning camera."""

    area: float = 0.0
    """Per cent of the picture."""
    weight: float = 0.0
    """How far it followed: 1 stays in the picture."""


def find_carried(cv2: ModuleType, pictures: tuple[Pixels, Pixels], turn: Floats, intrinsics: Floats) -> Carried:
    """The largest part of a picture that another one, taken while the camera turned, shows too far along.

    `turn` leads from rays of the second to rays of the first; `intrinsics` are for the size of the pictures.
    """
    first, second = pictures
    size = first.shape[1], first.shape[0]

    def along(weight: float) -> tuple[Pixels, Mask]:
        vector = cv2.Rodrigues(turn)[0] * (1 - weight)
        rotation = cv2.Rodrigues(vector)[0]
        to_first = intrinsics @ rotation @ np.linalg.inv(intrinsics)
        return warp(cv2, second, np.linalg.inv(to_first), size)

    placed, shown = along(0.0)
    if shown.mean() < MIN_SEEN:
        return Carried()
    stops = light_change(cv2, placed, first, shown)
    standing = difference_map(cv2, placed, first, stops)
    least = MIN_BLOB * shown.size
    gone = keep_blobs(cv2, (standing > CHANGED) & shown, least)
    if not gone.any():
        return Carried()
    areas = {}
    for weight in WEIGHTS:
        placed, shown = along(weight)
        apart = difference_map(cv2, placed, first, stops)
        is_found = gone & shown & (apart < 0.6 * CHANGED) & (apart < 0.5 * standing)
        areas[weight] = float(keep_blobs(cv2, is_found, least).mean())
    weight, area = max(areas.items(), key=lambda item: item[1])
    others = [areas[other] for other in WEIGHTS if abs(other - weight) > 0.35]
    is_clear = area > 0.25 * gone.mean() and area >= 1.8 * float(np.median(others))
    return Carried(100 * area, weight) if is_clear and area > 0 else Carried()


def carried_frames(trajectory: Trajectory, shares: Floats, start: int) -> list[int]:
    """Up to three frames on the way from a frame to where least of its view is seen; `shares` are its overlaps."""
    away = int(shares.argmin())
    step = 1 if away > start else -1
    way = [frame for frame in range(start + step, away, step) if 0.3 <= shares[frame] <= 0.92]
    if len(way) <= MIN_POINTS:
        return way
    return [way[len(way) * quarter // 4] for quarter in (1, 2, 3)]
