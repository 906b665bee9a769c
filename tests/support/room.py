"""A textured box seen from inside by a pinhole camera: clips whose poses are known exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Floats = NDArray[np.floating]
Picture = NDArray[np.uint8]

HALF_EXTENT = np.array([3.0, 2.0, 4.0])
TEXTURE_PIXELS = 768


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
    def _atlas(self) -> Picture:
        rng = np.random.default_rng(self.seed)
        faces = []
        for _ in range(6):
            face = np.zeros((TEXTURE_PIXELS, TEXTURE_PIXELS, 3), np.float32)
            for cells in (6, 24, 96):
                noise = rng.uniform(-1, 1, (cells, cells, 3)).astype(np.float32)
                face += cv2.resize(noise, (TEXTURE_PIXELS, TEXTURE_PIXELS), interpolation=cv2.INTER_CUBIC)
            faces.append(np.clip(128 + 70 * face, 0, 255).astype(np.uint8))
        return np.concatenate(faces)

    @cached_property
    def _rays(self) -> Floats:
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(self.height) + 0.5)
        pixels = np.stack([x, y, np.ones_like(x)])
        return np.einsum("ij,jhw->ihw", np.linalg.inv(self.intrinsics), pixels).astype(np.float32)

    def render(self, camera_to_world: Floats) -> tuple[Picture, Floats]:
        """The picture and the depth along the camera's z."""
        origin, half = camera_to_world[:3, 3].astype(np.float32), HALF_EXTENT.astype(np.float32)
        rays = np.tensordot(camera_to_world[:3, :3].astype(np.float32), self._rays, axes=1)
        rays[np.abs(rays) < 1e-9] = 1e-9
        inverse = 1 / rays
        steps = half[:, None, None] * np.abs(inverse) - origin[:, None, None] * inverse
        depth = steps.min(axis=0)
        hit_x, hit_y, hit_z = (origin[axis] + depth * rays[axis] for axis in range(3))
        on_x, on_y = depth == steps[0], depth == steps[1]
        face = np.where(on_x, rays[0] > 0, np.where(on_y, 2 + (rays[1] > 0), 4 + (rays[2] > 0))).astype(np.float32)
        across, along = np.where(on_x, hit_y, hit_x), np.where(on_x | on_y, hit_z, hit_y)
        # Textures span the longest wall, so that no two walls share a scale or an edge.
        reach = np.float32(HALF_EXTENT.max())
        scale = np.float32((TEXTURE_PIXELS - 8) / (2 * reach))
        u = (across + reach) * scale + 4
        v = (along + reach) * scale + 4 + face * TEXTURE_PIXELS
        return cv2.remap(self._atlas, u, v, cv2.INTER_LINEAR), depth

    def frames(self, path: Floats) -> Iterator[Picture]:
        """Pictures along a path of camera-to-world matrices."""
        for pose in path:
            yield self.render(pose)[0]


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
    match action:
        case "left_then_right":
            return np.stack([pose(yaw_degrees=-degrees * p, centre=(a, 0, 0)) for p, a in zip(progress, aside)])
        case "right_then_left":
            return np.stack([pose(yaw_degrees=degrees * p, centre=(a, 0, 0)) for p, a in zip(progress, aside)])
        case "forward_then_backward":
            return np.stack([pose(centre=(a, 0, metres * p)) for p, a in zip(progress, aside)])
    raise ValueError(action)
