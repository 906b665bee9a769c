"""A picture as it would look from another camera."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from lookaway.core import Floats, Mask

Area: TypeAlias = tuple[slice, slice]
"""Rows and columns of a picture."""
ROUNDING_PIXELS = 1e-6
"""A camera that has not moved sees its own edge there, but for rounding."""


@dataclass(frozen=True, slots=True)
class View:
    """A grey picture and the camera that took it."""

    picture: Floats
    """[height, width] float32"""
    camera_to_world: Floats
    """[4, 4]"""
    intrinsics: Floats
    """[3, 3] for the size of the picture."""


def warped_onto(cv2: ModuleType, onto: View, depth: Floats, seen: View, area: Area) -> tuple[Floats, Mask]:
    """What `seen` shows at the pixels of an area of `onto`, and which of these it shows at all.

    Each pixel of the area is put into space by its depth, and looked up where the other camera sees that point: in
    front of it and inside its picture. Depth covers the whole picture, at any size; 0 is unknown. Whether something
    nearer hides the point from the other camera is not asked.
    """
    height, width = onto.picture.shape
    rows, columns = (axis + 0.5 for axis in np.mgrid[area].astype(np.float64))
    inverse, is_known = _inverse_depth(cv2, depth, columns / width, rows / height)
    rays = np.stack([columns, rows, np.ones_like(rows)], axis=-1) @ np.linalg.inv(onto.intrinsics).T
    motion = np.linalg.inv(seen.camera_to_world) @ onto.camera_to_world
    # The point is ray / inverse; times inverse it is seen at the same place, and nothing is divided by 0.
    points = (rays @ motion[:3, :3].T + inverse[..., None] * motion[:3, 3]) @ seen.intrinsics.T
    is_in_front = points[..., 2] > 0
    places = points[..., :2] / np.where(is_in_front, points[..., 2], 1.0)[..., None] - 0.5
    last = np.array(seen.picture.shape[::-1]) - 1
    is_inside = ((places >= -ROUNDING_PIXELS) & (places <= last + ROUNDING_PIXELS)).all(axis=-1)
    is_valid = is_known & is_in_front & is_inside
    looked_up = np.where(is_valid[..., None], places, 0.0)
    return _sampled(cv2, seen.picture, looked_up[..., 0], looked_up[..., 1]), is_valid


def _inverse_depth(cv2: ModuleType, depth: Floats, across: Floats, down: Floats) -> tuple[Floats, Mask]:
    """1 / depth at places given as parts of the picture, and where it is known.

    Of a plane, not depth but its inverse is linear over the picture.
    """
    is_known = np.isfinite(depth) & (depth > 0)
    inverse = np.where(is_known, 1 / np.where(is_known, depth, 1).astype(np.float64), 0)
    rows, columns = depth.shape
    places = across * columns - 0.5, down * rows - 0.5
    known = _sampled(cv2, is_known.astype(np.float32), *places)
    return _sampled(cv2, inverse.astype(np.float32), *places).astype(np.float64), known > 1 - ROUNDING_PIXELS


def _sampled(cv2: ModuleType, picture: Any, x: Floats, y: Floats) -> Floats:
    """Bilinear between the middles of pixels; the first one's is (0, 0)."""
    found: Floats = cv2.remap(
        picture, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return found
