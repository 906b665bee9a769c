"""A camera that turns in front of a painted backdrop and back: pictures and poses that are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from lookaway.core import Feature, Trajectory

WIDTH, HEIGHT = 192, 108
LENS = np.array([[150.0, 0, WIDTH / 2], [0, 150, HEIGHT / 2], [0, 0, 1]])
WIDE = (900, 300)
"""Size of the backdrop; it is a picture taken with the same lens, straight ahead."""
WIDE_LENS = np.array([[150.0, 0, WIDE[0] / 2], [0, 150, WIDE[1] / 2], [0, 0, 1]])
OUT_AND_BACK = (*range(0, 49, 6), *range(42, -1, -6))
"""Degrees to the left at each frame."""

Backdrop = NDArray[np.uint8]


def backdrop(seed: int = 0) -> Backdrop:
    """Blotches of all sizes in middling colours."""
    rng = np.random.default_rng(seed)
    picture = np.full((WIDE[1], WIDE[0], 3), 128, np.float32)
    for cells, strength in ((6, 50), (20, 40), (75, 30)):
        blotches = rng.uniform(-strength, strength, (cells // 2, cells, 3)).astype(np.float32)
        picture += cv2.resize(blotches, WIDE, interpolation=cv2.INTER_CUBIC)
    return picture.clip(20, 235).astype(np.uint8)


def rotations(degrees: tuple[float, ...]) -> NDArray[Any]:
    """[N, 3, 3] camera to world, turned to the left."""
    angles = -np.radians(degrees)
    turns = np.tile(np.eye(3), (len(angles), 1, 1))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(angles)
    turns[:, 0, 2], turns[:, 2, 0] = np.sin(angles), -np.sin(angles)
    return turns


def poses(degrees: tuple[float, ...] = OUT_AND_BACK) -> Feature:
    """The path, with a median depth of 1."""
    count = len(degrees)
    path = np.tile(np.eye(4), (count, 1, 1))
    path[:, :3, :3] = rotations(degrees)
    return Trajectory(
        camera_to_world=path,
        intrinsics=np.tile(LENS, (count, 1, 1)),
        frame_indices=np.arange(count),
        median_depth=np.ones(count),
        width=WIDTH,
        height=HEIGHT,
        frame_count=count,
    ).to_feature()


def pictures(
    degrees: tuple[float, ...] = OUT_AND_BACK,
    before: Backdrop | None = None,
    returning: Callable[[Backdrop], Backdrop] = lambda backdrop: backdrop,
) -> list[NDArray[np.uint8]]:
    """What the camera sees; from the farthest frame on, the backdrop is what `returning` makes of it."""
    before = backdrop() if before is None else before
    away = int(np.argmax(degrees))
    after = returning(before.copy())
    shown = []
    for frame, turn in enumerate(rotations(degrees)):
        to_backdrop = WIDE_LENS @ turn @ np.linalg.inv(LENS)
        centre = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        inner = np.linalg.inv(centre) @ to_backdrop @ centre
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        source = before if frame < away else after
        shown.append(cv2.warpPerspective(source, inner, (WIDTH, HEIGHT), flags=flags))
    return shown
