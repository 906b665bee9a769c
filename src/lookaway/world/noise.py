"""Smooth random values, the stuff that patterns are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Generator = np.random.Generator
Points = tuple[Values, Values, Values]
"""Coordinates of every texel in metres, on a picture or around a solid."""


def noise(rng: Generator, points: Points, cells: float, octaves: int = 4) -> Values:
    """Smooth random values from 0 to 1; the coarsest has so many cells to the metre."""
    total, weight, weights = np.zeros_like(points[0]), 1.0, 0.0
    for octave in range(octaves):
        total += weight * _lattice_noise(rng, points, cells * 2**octave)
        weights += weight
        weight *= 0.6
    return total / weights


def _lattice_noise(rng: Generator, points: Points, cells: float) -> Values:
    places = [(axis - axis.min()) * cells for axis in points]
    sizes = [int(place.max()) + 2 for place in places]
    lattice = rng.random(sizes)
    if np.ptp(points[2]) == 0:
        # A flat picture is a grid: one axis after the other.
        along = _interpolated(lattice[:, :, 0], places[0][0])
        return _interpolated(np.ascontiguousarray(along.T), places[1][:, 0])
    corners = [place.astype(np.int64) for place in places]
    x, y, z = (_smooth(place - corner) for place, corner in zip(places, corners, strict=True))
    row, column = sizes[2], sizes[1] * sizes[2]
    values, first = lattice.ravel(), corners[0] * column + corners[1] * row + corners[2]
    edges = []
    for offset in (0, row, column, column + row):
        near, far = values[first + offset], values[first + offset + 1]
        edges.append(near + (far - near) * z)
    left, right = edges[0] + (edges[1] - edges[0]) * y, edges[2] + (edges[3] - edges[2]) * y
    return np.asarray(left + (right - left) * x)


def _interpolated(lattice: Values, line: Values) -> Values:
    """[len(line), ...] of a lattice [places, ...] at these places."""
    corner = line.astype(np.int64)
    part = _smooth(line - corner)[:, None]
    near = lattice[corner]
    return np.asarray(near + (lattice[corner + 1] - near) * part)


def _smooth(part: Values) -> Values:
    return np.asarray(part * part * (3 - 2 * part))
