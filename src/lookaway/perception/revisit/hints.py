"""Hints at how a place changed: things that moved, that were copied, or that were carried along by the camera."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Mask, Pixels
from lookaway.perception.revisit.alignment import Alignment, View, moved_points, warp
from lookaway.perception.revisit.change_map import ChangeLimits, difference_map, keep_blobs, light_change


@dataclass(frozen=True, slots=True)
class ThingLimits:
    """From where on points, or a part of the picture, are a thing that moved, was copied, or was carried along."""

    moved: Annotated[float, "frame heights; a matched point that is farther off its place has moved"] = 0.03
    near: Annotated[float, "frame heights between points of one thing"] = 0.15
    alike: Annotated[float, "frame heights between the ways of points of one thing"] = 0.04
    min_points: Annotated[int, "so many points that went one way together are a thing"] = 3
    ratio: Annotated[float, "a copied point must be nearer than this part of the second nearest"] = 0.8
    weights: Annotated[
        tuple[float, ...], "how far a thing may follow the camera: 0 stays in its place, 1 stays in the picture"
    ] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    min_seen: Annotated[
        float, "part of the picture that two frames must have in common for a carried thing to be looked for"
    ] = 0.15
    height: Annotated[int, "frame height at which carried things are looked for"] = 128
    on_the_way: Annotated[
        tuple[float, float], "part of the picture that a frame between leaving and turning back shows, least and most"
    ] = (0.3, 0.92)
    same: Annotated[float, "part of the least difference of a change within which a carried thing is the same"] = 0.6
    nearer: Annotated[float, "and part of the difference that there was where it stood"] = 0.5
    min_share: Annotated[float, "part of what has gone that a carried thing shows at least"] = 0.25
    other_way: Annotated[float, "weights that are farther from its own than this are other ways"] = 0.35
    stands_out: Annotated[float, "times the median area of other ways that its own must have"] = 1.8


def count_moved(alignment: Alignment, height: int, limits: ThingLimits) -> int:
    """Matched points that went another way than the view, in groups."""
    errors = moved_points(alignment.homography, alignment.columns) - alignment.rows
    is_off = np.linalg.norm(errors, axis=1) > limits.moved * height
    expected = moved_points(np.linalg.inv(alignment.homography), alignment.rows[is_off])
    found = alignment.columns[is_off]
    return int(_goes_along(found, found - expected, height, limits).sum())


def count_copied(first: View, second: View, alignment: Alignment, changed: Mask, limits: ThingLimits) -> int:
    """Points in changed places that look like a point of the first visit whose own place is unchanged, in groups."""
    at = second.points[_at(changed, second.points)]
    seen = second.descriptors[_at(changed, second.points)]
    if len(at) == 0 or len(first.points) < 2:
        return 0
    distances = 2 - 2 * seen @ first.descriptors.T
    nearest = distances.argmin(axis=1)
    two = np.partition(distances, 1, axis=1)[:, :2]
    is_clear = two[:, 0] < limits.ratio**2 * two[:, 1]
    origin = moved_points(np.linalg.inv(alignment.homography), first.points[nearest])
    height = second.size[1]
    is_far = np.linalg.norm(at - origin, axis=1) > limits.moved * height
    kept = is_clear & is_far
    at, origin = at[kept], origin[kept]
    return int((_goes_along(at, at - origin, height, limits) & ~_at(changed, origin)).sum())


def _goes_along(points: Floats, ways: Floats, height: int, limits: ThingLimits) -> Mask:
    """Which points have others near them that went the same way."""
    near = np.linalg.norm(points[:, None] - points[None], axis=-1) < limits.near * height
    alike = np.linalg.norm(ways[:, None] - ways[None], axis=-1) < limits.alike * height
    return np.asarray((near & alike).sum(axis=1) >= limits.min_points)


def _at(mask: Mask, points: Floats) -> NDArray[np.bool_]:
    columns, rows = (np.clip(points[:, axis].astype(int), 0, mask.shape[1 - axis] - 1) for axis in (0, 1))
    return np.asarray(mask[rows, columns])


@dataclass(frozen=True, slots=True)
class Carried:
    """What left its place together with a turning camera."""

    area: float
    """Per cent of the picture."""
    weight: float
    """How far it followed: 1 stays in the picture."""


NOTHING_CARRIED: Final = Carried(0.0, 0.0)


def find_carried(
    cv2: ModuleType,
    pictures: tuple[Pixels, Pixels],
    turn: Floats,
    intrinsics: Floats,
    limits: ThingLimits,
    changes: ChangeLimits,
) -> Carried:
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
    if shown.mean() < limits.min_seen:
        return NOTHING_CARRIED
    stops = light_change(cv2, placed, first, shown, changes)
    standing = difference_map(cv2, placed, first, stops, changes)
    least = changes.min_blob * shown.size
    gone = keep_blobs(cv2, (standing > changes.changed) & shown, least)
    if not gone.any():
        return NOTHING_CARRIED
    areas = {}
    for weight in limits.weights:
        placed, shown = along(weight)
        apart = difference_map(cv2, placed, first, stops, changes)
        is_found = gone & shown & (apart < limits.same * changes.changed) & (apart < limits.nearer * standing)
        areas[weight] = float(keep_blobs(cv2, is_found, least).mean())
    weight, area = max(areas.items(), key=lambda item: item[1])
    others = [areas[other] for other in limits.weights if abs(other - weight) > limits.other_way]
    is_clear = area > limits.min_share * gone.mean() and area >= limits.stands_out * float(np.median(others))
    return Carried(100 * area, weight) if is_clear and area > 0 else NOTHING_CARRIED


def carried_frames(shares: Floats, start: int, limits: ThingLimits) -> list[int]:
    """Up to three frames on the way from a frame to where least of its view is seen; `shares` are its overlaps."""
    (least, most), away = limits.on_the_way, int(shares.argmin())
    step = 1 if away > start else -1
    way = [frame for frame in range(start + step, away, step) if least <= shares[frame] <= most]
    if len(way) <= 3:
        return way
    return [way[len(way) * quarter // 4] for quarter in (1, 2, 3)]
