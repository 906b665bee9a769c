"""Paints textures of surfaces and skies."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from lookaway.core import Pixels
from lookaway.world.nouns import Light, Part, Surface
from lookaway.world.patterns import PATTERNS, Points, Values, mixed, noise

TEXELS_PER_METRE = 120
MAX_TEXELS = 1280
"""Along the longer side of an image."""
SKY_TEXELS = 256


@lru_cache(maxsize=256)
def paint_picture(surface: Surface, width: float, height: float) -> Pixels:
    """Texture of a flat image of this size in metres, [rows, columns, 3]."""
    density = min(TEXELS_PER_METRE, MAX_TEXELS / max(width, height))
    columns, rows = (max(round(side * density), 48) for side in (width, height))
    upwards = (np.arange(rows)[::-1] + 0.5) * height / rows
    x, y = np.meshgrid((np.arange(columns) + 0.5) * width / columns, upwards)
    return _painted(surface, (x, y, np.zeros_like(x)))


@lru_cache(maxsize=256)
def paint_solid(surface: Surface, width: float, depth: float, height: float) -> Pixels:
    """Textures of the six faces of a box of this size in metres, stacked as [6 side, side, 3], without seams."""
    side = round(float(np.clip(max(width, depth, height) * TEXELS_PER_METRE, 32, 128)))
    u, v = np.meshgrid(*[(np.arange(side) + 0.5) / side - 0.5] * 2)
    half = np.full_like(u, 0.5)
    # In the order of OpenGL: +x, -x, +y, -y, +z, -z.
    faces = [(half, -v, -u), (-half, -v, u), (u, half, v), (u, -half, -v), (u, -v, half), (-u, -v, -half)]
    x, y, z = (np.concatenate([face[axis] for face in faces]) for axis in range(3))
    return _painted(surface, (x * width, y * depth, z * height))


def paint_part(part: Part, *, is_repainted: bool = False) -> Pixels:
    """Texture of a part, or the alternative one that faults fade it to."""
    surface = another(part.surface) if is_repainted else part.surface
    width, depth, height = part.size
    if part.shape == "panel":
        return paint_picture(surface, width, depth)
    return paint_solid(surface, width, depth, height)


def paint_sky(light: Light) -> Pixels:
    """Sky with clouds as MuJoCo expects it: six faces stacked as [6 side, side, 3]."""
    if light.sky is None:
        raise ValueError("there is no sky under a ceiling")
    u, v = np.meshgrid(*[(np.arange(SKY_TEXELS) + 0.5) / SKY_TEXELS * 2 - 1] * 2)
    one = np.ones_like(u)
    faces = [(one, u, -v), (-one, -u, -v), (u, -v, one), (u, v, -one), (u, -one, -v), (-u, one, -v)]
    x, y, z = (np.concatenate([face[axis] for face in faces]) for axis in range(3))
    length = np.sqrt(x * x + y * y + z * z)
    x, y, z = x / length, y / length, z / length
    rng = np.random.default_rng([round((axis + 1) * 1e6) for axis in light.direction])
    horizon, zenith = light.sky
    height = np.clip(z, 0, 1)
    blue = mixed(horizon, zenith, height**0.6)
    # Flat from below, as clouds are, and thinner towards the horizon.
    billows = noise(rng, (x, y, 1.6 * z), 3, 5)
    cover = np.clip((billows - 0.5) * 7, 0, 1) * np.clip(height * 5, 0, 1)
    grey = 0.82 + 0.18 * noise(rng, (x, y, z), 6, 3)
    return _levels(blue * (1 - cover[..., None]) + (grey * cover)[..., None])


def another(surface: Surface) -> Surface:
    """A surface of the same pattern with other colours in other places."""
    rotated = tuple((blue, 1 - red, green) for red, green, blue in surface.colours)
    return replace(surface, colours=rotated, seed=surface.seed + 7919)


def _painted(surface: Surface, points: Points) -> Pixels:
    rng = np.random.default_rng(surface.seed)
    if surface.pattern not in PATTERNS:
        raise ValueError(f"no pattern is named {surface.pattern!r}; known: {', '.join(PATTERNS)}")
    return _levels(PATTERNS[surface.pattern](rng, points, surface.colours))


def _levels(picture: Values) -> Pixels:
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
