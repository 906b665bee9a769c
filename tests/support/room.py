"""A textured box seen from inside by a pinhole camera: clips whose poses are known exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lookaway.core import Indices, Trajectory

Floats = NDArray[np.floating]
Picture = NDArray[np.uint8]

HALF_EXTENT = np.array([3.0, 2.0, 4.0])
TEXTURE_PIXELS = 768
NEAR_METRES = 0.5
"""No wall is seen from nearer than this by a camera that stays about the middle."""
# Textures span the longest wall, so that no two walls share a scale or an edge.
TEXELS_PER_METRE = (TEXTURE_PIXELS - 8) / (2 * HALF_EXTENT.max())


@dataclass(frozen=True)
class Room:
    """A box with six random textures, in OpenCV axes: x right, y down, z forward."""

    seed: int
    width: int = 832
    height: int = 480
    field_of_view_degrees: float = 70.0

    @property
    def intrinsics(self) -> Floats:
        """Pixels counted from the corner of the image."""
        focal = self.width / 2 / np.tan(np.radians(self.field_of_view_degrees) / 2)
        return np.array([[focal, 0, self.width / 2], [0, focal, self.height / 2], [0, 0, 1]])

    @cached_property
    def _textures(self) -> list[Picture]:
        rng = np.random.default_rng(self.seed)
        faces = []
        for _ in range(6):
            face = np.zeros((TEXTURE_PIXELS, TEXTURE_PIXELS, 3), np.float32)
            for cells in (6, 24, 96):
                noise = rng.uniform(-1, 1, (cells, cells, 3)).astype(np.float32)
                face += cv2.resize(noise, (TEXTURE_PIXELS, TEXTURE_PIXELS), interpolation=cv2.INTER_CUBIC)
            faces.append(np.clip(128 + 70 * face, 0, 255).astype(np.uint8))
        return faces

    def render(self, camera_to_world: Floats) -> Picture:
        """What the camera sees: each wall is a plane, so that a homography draws it."""
        picture = np.zeros((self.height, self.width, 3), np.uint8)
        for face in range(6):
            self._draw_wall(picture, face, camera_to_world[:3, :3], camera_to_world[:3, 3])
        return picture

    def _draw_wall(self, picture: Picture, face: int, rotation: Floats, centre: Floats) -> None:
        normal, side = face // 2, 1 if face % 2 else -1
        across, along = ((1, 2), (0, 2), (0, 1))[normal]
        corners = np.zeros((4, 3))
        corners[:, normal] = side * HALF_EXTENT[normal]
        corners[:, across] = HALF_EXTENT[across] * np.array([-1, 1, 1, -1])
        corners[:, along] = HALF_EXTENT[along] * np.array([-1, -1, 1, 1])
        outline = _in_front((corners - centre) @ rotation)
        if len(outline) < 3:
            return
        outline = outline @ self.intrinsics.T
        outline = outline[:, :2] / outline[:, 2:] - 0.5
        left, top = np.maximum(np.floor(outline.min(axis=0)).astype(int), 0)
        right, bottom = np.minimum(np.ceil(outline.max(axis=0)).astype(int) + 1, (self.width, self.height))
        if left >= right or top >= bottom:
            return
        to_corner = np.array([[1, 0, left + 0.5], [0, 1, top + 0.5], [0, 0, 1]])
        rays = rotation @ np.linalg.inv(self.intrinsics) @ to_corner
        distance = side * HALF_EXTENT[normal] - centre[normal]
        reach = HALF_EXTENT.max()
        texels = [
            TEXELS_PER_METRE * (rays[axis] * distance + (centre[axis] + reach) * rays[normal]) + 4 * rays[normal]
            for axis in (across, along)
        ]
        wall = cv2.warpPerspective(
            self._textures[face],
            np.stack([*texels, rays[normal]]),
            (int(right - left), int(bottom - top)),
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderMode=cv2.BORDER_REPLICATE,
        )
        mask = np.zeros(wall.shape[:2], np.uint8)
        cv2.fillConvexPoly(mask, np.rint((outline - (left, top)) * 256).astype(np.int32), 255, cv2.LINE_8, 8)
        cv2.copyTo(wall, mask, picture[top:bottom, left:right])

    def frames(self, path: Floats) -> Iterator[Picture]:
        """Pictures along a path of camera-to-world matrices; a view that comes back is drawn once."""
        drawn: dict[bytes, Picture] = {}
        for pose in path:
            key = (pose.round(9) + 0.0).tobytes()
            if key not in drawn:
                drawn[key] = self.render(pose)
            yield drawn[key]


def _in_front(corners: Floats) -> Floats:
    """The part of a polygon in camera coordinates that lies in front of the camera."""
    kept = []
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if start[2] > NEAR_METRES:
            kept.append(start)
        if (start[2] > NEAR_METRES) != (end[2] > NEAR_METRES):
            kept.append(start + (NEAR_METRES - start[2]) / (end[2] - start[2]) * (end - start))
    return np.array(kept)


def pose(*, yaw_degrees: float = 0.0, centre: tuple[float, float, float] = (0, 0, 0)) -> Floats:
    """A camera-to-world matrix; positive yaw turns right."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("y", yaw_degrees, degrees=True).as_matrix()
    matrix[:3, 3] = centre
    return matrix


def there_and_back(
    action: str, frames: int, *, degrees: float = 40.0, metres: float = 1.2, return_offset_metres: float = 0.0
) -> Floats:
    """The path of `left_then_right`, `right_then_left` or `forward_then_backward`.

    `return_offset_metres` lets the camera come back beside the way it went, so that pairs have a baseline.
    """
    progress = 1 - np.abs(np.linspace(-1, 1, frames))
    aside = np.where(np.arange(frames) < frames // 2, 0.0, return_offset_metres)
    steps = list(zip(progress, aside, strict=True))
    match action:
        case "left_then_right":
            return np.stack([pose(yaw_degrees=-degrees * p, centre=(a, 0, 0)) for p, a in steps])
        case "right_then_left":
            return np.stack([pose(yaw_degrees=degrees * p, centre=(a, 0, 0)) for p, a in steps])
        case "forward_then_backward":
            return np.stack([pose(centre=(a, 0, metres * p)) for p, a in steps])
    raise ValueError(action)


def trajectory(
    path: Floats,
    *,
    frame_indices: Indices | None = None,
    frame_count: int | None = None,
    median_depth: float = 3.0,
) -> Trajectory:
    """A path as a supplier of poses would give it, for pictures of the default size."""
    indices = np.arange(len(path)) if frame_indices is None else frame_indices
    room = Room(seed=0)
    return Trajectory(
        camera_to_world=np.asarray(path),
        intrinsics=np.tile(room.intrinsics, (len(path), 1, 1)),
        frame_indices=indices,
        median_depth=np.full(len(path), median_depth),
        width=room.width,
        height=room.height,
        frame_count=int(indices[-1]) + 1 if frame_count is None else frame_count,
    )
