"""Points in space as a camera would find them, each with a descriptor of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.follower import Follower
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.sightings import Outline, Sighting

WIDTH, HEIGHT = 448, 256


@dataclass(frozen=True)
class Cloud:
    """Points around the origin, and how cameras see them."""

    points: np.ndarray
    focal: float = 350.0
    noise: float = 0.3
    """Pixels."""
    wrong: float = 0.0
    """Share of the points of each frame that are found somewhere else."""
    moving: float = 0.0
    """Share of the points that move by themselves, all in one way."""
    seed: int = 0

    def sightings(self, poses: np.ndarray) -> list[Sighting]:
        random = np.random.default_rng(self.seed)
        descriptors = random.integers(0, 256, (len(self.points), 128)).astype(np.float32)
        is_moving = np.arange(len(self.points)) < self.moving * len(self.points)
        found = []
        for number, pose in enumerate(poses):
            places = self.points + np.where(is_moving[:, None], [0.0, -0.06 * number, 0.0], 0.0)
            local = (places - pose[:3, 3]) @ pose[:3, :3]
            pixels = self.focal * local[:, :2] / np.where(local[:, 2:] > 0.1, local[:, 2:], np.inf)
            pixels += random.normal(0, self.noise, pixels.shape)
            is_seen = (local[:, 2] > 0.1) & (np.abs(pixels) < [WIDTH / 2, HEIGHT / 2]).all(axis=1)
            is_wrong = random.random(len(pixels)) < self.wrong
            elsewhere = random.uniform(-0.5, 0.5, pixels.shape) * [WIDTH, HEIGHT]
            pixels = np.where(is_wrong[:, None], elsewhere, pixels)
            found.append(Sighting(number, pixels[is_seen], descriptors[is_seen], outline(pixels[is_seen])))
        return found

    def median_depth(self, pose: np.ndarray) -> float:
        """Of the points in the picture."""
        local = (self.points - pose[:3, 3]) @ pose[:3, :3]
        is_ahead = local[:, 2] > 0.1
        pixels = self.focal * local[is_ahead, :2] / local[is_ahead, 2:]
        is_seen = (np.abs(pixels) < [WIDTH / 2, HEIGHT / 2]).all(axis=1)
        return float(np.median(local[is_ahead, 2][is_seen]))


def outline(pixels: np.ndarray) -> Outline:
    """Dots where points are: an outline that does not depend on their descriptors."""
    reduction = HEIGHT / 96
    dots = np.full((96, round(WIDTH / reduction), 3), 40, np.uint8)
    columns, rows = (pixels / reduction + np.array([WIDTH, HEIGHT]) / reduction / 2).astype(int).T
    for column, row in zip(columns, rows, strict=True):
        dots[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3] = 220
    return Outline(dots, reduction)


def room(count: int = 1500, seed: int = 0) -> np.ndarray:
    """Points all around, from 3 to 9 away."""
    random = np.random.default_rng(seed)
    ways = random.normal(size=(count, 3)) * [1, 0.4, 1]
    return ways / np.linalg.norm(ways, axis=1, keepdims=True) * random.uniform(3, 9, (count, 1))


def wall(count: int = 500, seed: int = 0) -> np.ndarray:
    """Points of one plane, 5 away and slanted."""
    random = np.random.default_rng(seed)
    x, y = random.uniform(-6, 6, count), random.uniform(-3, 3, count)
    return np.column_stack([x, y, 5 + 0.3 * x])


def out_and_back(frames: int) -> np.ndarray:
    """From 0 to 1 and back, standing still a while in between and at both ends."""
    return np.clip(np.interp(np.arange(frames), np.linspace(0, frames - 1, 6), [0, 0, 1, 1, 0, 0]), 0, 1)


def poses(yaw=0.0, pitch=0.0, way=(0.0, 0.0, 0.0), frames=18) -> np.ndarray:
    """Out to so many degrees (right and up) and to a place, and back."""
    part = out_and_back(frames)
    made = np.tile(np.eye(4), (frames, 1, 1))
    made[:, :3, :3] = Rotation.from_euler("yx", np.column_stack([part * yaw, part * pitch]), degrees=True).as_matrix()
    made[:, :3, 3] = part[:, None] * np.array(way)
    return made


def orbit(degrees: float, radius: float = 5.0, frames: int = 18) -> np.ndarray:
    """Around a point ahead, looking at it, and back."""
    angles = np.radians(degrees) * out_and_back(frames)
    made = np.tile(np.eye(4), (frames, 1, 1))
    made[:, :3, :3] = Rotation.from_euler("y", -angles[:, None]).as_matrix()
    made[:, 0, 3], made[:, 2, 3] = radius * np.sin(angles), radius * (1 - np.cos(angles))
    return made


def follow(sightings: list[Sighting], **fields):
    settings = {
        "cv2": load_opencv(),
        "ratio": 0.8,
        "tolerance": 1.0,
        "step": 0.05 * WIDTH,
        "prior": FocalPrior.from_field(60, WIDTH, 0.3, 3.0),
        "min_posed": 0.9,
        "settings": TrackerSettings(),
    }
    return Follower(**{**settings, **fields}).follow(sightings)
