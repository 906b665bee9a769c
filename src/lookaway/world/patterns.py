"""Surface patterns. None repeats itself, since repeated features would be matched with the wrong place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lookaway.world.nouns import Colour

Values = NDArray[np.float64]
Generator = np.random.Generator
Points = tuple[Values, Values, Values]
"""Coordinates of every texel in metres, on an image or around a solid."""


def noise(rng: Generator, points: Points, cells: float, octaves: int = 4) -> Values:
    """Smooth noise from 0 to 1, with this many of the coarsest cells per metre."""
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


Pattern = Callable[[Generator, Points, tuple[Colour, ...]], Values]


def _shaded(colour: Colour, brightness: Values) -> Values:
    return np.asarray(np.array(colour) * brightness[..., None])


def mixed(first: Colour, second: Colour, weight: Values) -> Values:
    """Two colours, by the weight of the second."""
    return np.asarray(np.array(first) * (1 - weight[..., None]) + np.array(second) * weight[..., None])


def _cells(rng: Generator, points: Points, counts: tuple[float, float, float], stagger: float) -> tuple[Values, Values]:
    """For every texel a random number shared by its cell, and its distance from the cell's border as a fraction."""
    x, y, z = (axis - axis.min() for axis in points)
    row, across_row = _divided(rng, y, counts[1])
    shift = stagger * rng.uniform(0.6, 1.4, int(row.max()) + 1)[row] * (row % 2) / counts[0]
    column, across_column = _divided(rng, x + shift, counts[0])
    layer, across_layer = _divided(rng, z, counts[2])
    shared = rng.random([int(index.max()) + 1 for index in (column, row, layer)])[column, row, layer]
    parts = (across_column, across_row, across_layer)
    used = [part for part, axis in zip(parts, points, strict=True) if np.ptp(axis) > 0]
    return shared, np.minimum.reduce([0.5 - np.abs(part - 0.5) for part in used])


def _divided(rng: Generator, line: Values, per_metre: float) -> tuple[NDArray[np.int64], Values]:
    """Cell of a coordinate, and its position in it from 0 to 1. Cells differ in width, so that none look alike."""
    edges = np.cumsum(rng.uniform(0.75, 1.25, int(float(line.max()) * per_metre / 0.75) + 2)) / per_metre
    cell = np.searchsorted(edges, line.ravel(), side="right").reshape(line.shape)
    low = np.concatenate([[0.0], edges])[cell]
    return cell, np.asarray((line - low) / (edges[cell] - low))


def _plaster(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    picture = _shaded(colours[0], 0.72 + 0.56 * noise(rng, points, 1.5, 4))
    stains = noise(rng, points, 1.2, 4)
    picture[stains > 0.58] *= np.array(colours[-1]) * 0.3 + 0.7
    specks = noise(rng, points, 22, 1) * noise(rng, points, 5, 1)
    picture[specks > 0.62] *= 0.68
    picture[specks < 0.035] *= 1.2
    return picture


def _bricks(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    shared, border = _cells(rng, points, (3.2, 8.5, 3.2), 0.5)
    picture = mixed(colours[0], colours[1], shared) * (0.6 + 0.4 * noise(rng, points, 4, 4) + 0.4 * shared)[..., None]
    picture[border < 0.07] = np.array(colours[-1])
    return picture * (0.75 + 0.5 * noise(rng, points, 18, 2))[..., None]


def _tiles(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    shared, border = _cells(rng, points, (3.6, 3.6, 3.6), 0.0)
    chosen = np.minimum((shared * len(colours)).astype(int), len(colours) - 1)
    # What is left of the shared number after the choice gives each tile a tint of its own.
    tint = 0.55 + 0.3 * (shared * len(colours) % 1) + 0.6 * noise(rng, points, 5, 4)
    picture: Values = np.array(colours)[chosen] * tint[..., None]
    picture[border < 0.04] *= 0.4
    return picture


def _planks(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    shared, border = _cells(rng, points, (0.7, 6.5, 6.5), 0.43)
    x, y, z = points
    grain = noise(rng, (x * 0.2, y, z), 16, 2)
    rings = 0.5 + 0.5 * np.sin(40 * noise(rng, (x * 0.35, y, z), 2, 2) + 12 * shared)
    picture = mixed(colours[0], colours[-1], 0.6 * shared + 0.3 * rings)
    picture = picture * (0.6 + 0.55 * grain + 0.25 * noise(rng, points, 4, 2))[..., None]
    picture[border < 0.02] *= 0.35
    return picture


def _blotches(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Shapes of all sizes, as on a poster, a rug or a toy."""
    picture = _shaded(colours[0], 0.85 + 0.3 * noise(rng, points, 10, 3))
    spans = [float(np.ptp(axis)) for axis in points]
    for number in range(60):
        centre = [rng.uniform(axis.min(), axis.max()) for axis in points]
        reach = float(rng.uniform(0.02, 0.13)) * (1.6 - number / 60) * max(spans)
        offsets = [axis - place for axis, place, span in zip(points, centre, spans, strict=True) if span > 0]
        match rng.integers(0, 3):
            case 0:
                inside = sum(offset**2 for offset in offsets) < reach**2
            case 1:
                inside = np.maximum.reduce([np.abs(offset) for offset in offsets]) < reach * 0.8
            case _:
                angle = rng.uniform(0, np.pi)
                along = offsets[0] * np.cos(angle) + offsets[1] * np.sin(angle)
                across = offsets[1] * np.cos(angle) - offsets[0] * np.sin(angle)
                inside = (np.abs(along) < reach * 1.5) & (np.abs(across) < reach * 0.25)
        picture[inside] = np.array(colours[int(rng.integers(0, len(colours)))]) * rng.uniform(0.6, 1.15)
    return picture * (0.85 + 0.3 * noise(rng, points, 20, 2))[..., None]


def _books(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Upright spines of many widths, heights and labels."""
    x, y = points[0] - points[0].min(), points[1] - points[1].min()
    edges = np.cumsum(rng.uniform(0.02, 0.06, 400))
    book = np.searchsorted(edges, x.ravel()).reshape(x.shape)
    tint = rng.uniform(0.4, 1.15, 401)[book]
    picture: Values = np.array(colours)[rng.integers(0, len(colours), 401)[book]] * tint[..., None]
    top = float(y.max())
    for _ in range(4):
        start, thick = top * rng.uniform(0.05, 0.75, 401)[book], top * rng.uniform(0.02, 0.08, 401)[book]
        picture[(y > start) & (y < start + thick)] = rng.uniform(0.1, 1.0, 3)
    picture[y > top * rng.uniform(0.75, 0.97, 401)[book]] = 0.06
    return picture * (0.85 + 0.3 * noise(rng, points, 20, 2))[..., None]


def _stripes(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    x, y, z = points
    size = max(float(np.ptp(axis)) for axis in points)
    waves = noise(rng, points, 3 / size, 2)
    band = np.floor((x + 0.7 * y + 0.4 * z + 0.35 * size * waves) * 11 / size).astype(np.int64)
    picture = np.array(colours)[band % len(colours)]
    return picture * (0.7 + 0.6 * noise(rng, points, 14, 3))[..., None]


def _leaves(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    picture = mixed(colours[0], colours[-1], noise(rng, points, 3, 3))
    return picture * (0.25 + 1.5 * np.clip(noise(rng, points, 9, 3) - 0.2, 0, 1))[..., None]


def _asphalt(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    picture = _shaded(colours[0], 0.55 + 0.9 * noise(rng, points, 8, 3))
    patches = noise(rng, points, 0.6, 4)
    picture[np.abs(patches - 0.5) < 0.006] *= 0.35
    picture[patches > 0.58] *= 0.72
    picture[patches < 0.4] = picture[patches < 0.4] * 0.65 + np.array(colours[-1]) * 0.3
    return picture


def _facade(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """A wall of windows, no two of them alike."""
    picture = _bricks(rng, points, colours)
    across, up = points[0][0], points[1][:, 0]
    reflection = noise(rng, points, 1.5, 4)[..., None]
    for left in np.arange(0.5, float(across.max()) - 1, 2.0):
        for bottom in np.arange(0.9, float(up.max()) - 1, 2.4):
            width, height = rng.uniform(0.8, 1.3), rng.uniform(1.0, 1.6)
            start, low = left + rng.uniform(-0.2, 0.2), bottom + rng.uniform(-0.1, 0.1)
            frame = _inside(across, up, (start, width), (low, height))
            pane = _inside(across, up, (start + 0.08, width - 0.16), (low + 0.08, height - 0.16))
            picture[frame] = rng.uniform(0.6, 1.0)
            picture[pane] = np.array([0.25, 0.33, 0.42]) * (0.5 + reflection[pane]) * rng.uniform(0.5, 1.5)
            drawn = rng.uniform(0.1, 0.8)
            blind = _inside(
                across, up, (start + 0.08, width - 0.16), (low + height * drawn, height * (1 - drawn) - 0.08)
            )
            picture[blind] = picture[blind] * 0.3 + rng.uniform(0.2, 0.7, 3) * 0.7
    return picture


def _cardboard(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    x, y, z = points
    picture = mixed(colours[0], colours[-1], 0.6 * noise(rng, (x, y * 6, z * 6), 5, 3))
    prints = noise(rng, points, 4, 3)
    picture[np.abs(prints - 0.5) < 0.012] *= 0.5
    return picture * (0.8 + 0.4 * noise(rng, points, 12, 3))[..., None]


def _cloth(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Bands of many widths that cross each other."""
    across, along = points[0] + 0.5 * points[2], points[1] + 0.5 * points[2]
    bands = []
    for line in (across, along):
        edges = np.cumsum(rng.uniform(0.02, 0.12, 400)) + float(line.min())
        bands.append(rng.random(401)[np.searchsorted(edges, line.ravel()).reshape(line.shape)])
    picture = mixed(colours[0], colours[-1], (bands[0] + bands[1]) / 2)
    return picture * (0.7 + 0.6 * noise(rng, points, 14, 3))[..., None]


def _boards(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Upright planks of many widths: a fence, a barn, a barrel."""
    x, y, z = points
    line = x + 0.6 * z if np.ptp(z) > 0 else x
    edges = np.cumsum(rng.uniform(0.08, 0.24, 400)) + float(line.min())
    plank = np.searchsorted(edges, line.ravel()).reshape(line.shape)
    gap = np.minimum(np.abs(line - edges[np.minimum(plank, 399)]), np.abs(line - edges[np.maximum(plank - 1, 0)]))
    picture = mixed(colours[0], colours[-1], rng.random(401)[plank])
    picture = picture * (0.55 + 0.6 * noise(rng, (x, y * 0.2, z), 14, 2) + 0.3 * noise(rng, points, 3, 3))[..., None]
    picture[gap < 0.009] *= 0.35
    return picture


def _metal(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    x, y, z = points
    picture = mixed(colours[0], colours[-1], noise(rng, (x, y * 0.3, z), 3, 4))
    scratches = noise(rng, (x * 0.25, y, z), 20, 2)
    picture[np.abs(scratches - 0.5) < 0.02] *= 1.35
    return picture * (0.8 + 0.4 * noise(rng, points, 9, 2))[..., None]


def _rust(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Paint that has come off in places."""
    picture = _shaded(colours[0], 0.75 + 0.5 * noise(rng, points, 3, 4))
    worn = noise(rng, points, 2.5, 5)
    picture[worn > 0.6] = _shaded(colours[-1], 0.5 + noise(rng, points, 12, 3))[worn > 0.6]
    return picture


def _paint(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Two colours with a wavy border between them, and small marks."""
    x, y, z = points
    height = z if np.ptp(z) > 0 else y
    waves = noise(rng, points, 1.2, 2) - 0.5
    size = max(float(np.ptp(axis)) for axis in points)
    level = np.sin((height + 0.4 * x) * 4 / size + 5 * waves + rng.uniform(0, 6))
    picture = mixed(colours[0], colours[-1], np.clip(level * 8, 0, 1))
    return picture * (0.85 + 0.3 * noise(rng, points, 7, 4))[..., None]


def _glass(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Dark, with reflections."""
    x, y, z = points
    weight = np.clip(3 * noise(rng, (x + z, y + z, x - y), 1.4, 4) - 1.2, 0, 1)
    return mixed(colours[0], colours[-1], weight) * (0.9 + 0.2 * noise(rng, points, 15, 2))[..., None]


def _grass(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    picture = mixed(colours[0], colours[-1], noise(rng, points, 0.7, 5))
    picture = picture * (0.45 + 1.1 * noise(rng, points, 9, 3))[..., None]
    flowers = noise(rng, points, 7, 1) * noise(rng, points, 3, 1)
    picture[flowers > 0.74] = np.array([0.85, 0.8, 0.5])
    return picture


def _straw(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    x, y, z = points
    along = noise(rng, (x * 0.3, y * 2.0, z * 2.0), 9, 3)
    across = noise(rng, (x * 2.0, y * 0.3, z * 2.0), 9, 3)
    return mixed(colours[0], colours[-1], np.maximum(along, across)) * (0.3 + 1.2 * along)[..., None]


def _marble(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Slabs of several sizes, each with veins."""
    shared, border = _cells(rng, points, (1.1, 1.5, 1.3), 0.37)
    picture: Values = mixed(colours[0], colours[-1], 0.5 * shared + 0.5 * noise(rng, points, 2, 4))
    veins = np.abs(noise(rng, points, 1.3, 5) - 0.5)
    picture = picture * (0.6 + 0.4 * np.clip(veins * 22, 0, 1))[..., None]
    picture[border < 0.012] *= 0.5
    return picture * (0.85 + 0.3 * noise(rng, points, 8, 3))[..., None]


def _ice(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    """Cracks and bubbles in something clear."""
    picture: Values = mixed(colours[0], colours[-1], noise(rng, points, 6, 3))
    cracks = np.abs(noise(rng, points, 5, 4) - 0.5)
    picture = picture * (1.25 - 0.5 * np.clip(cracks * 14, 0, 1))[..., None]
    bubbles = noise(rng, points, 18, 1)
    picture[bubbles > 0.82] *= 1.3
    return picture


def _inside(across: Values, up: Values, columns: tuple[float, float], rows: tuple[float, float]) -> tuple[slice, slice]:
    """The texels of a rectangle: from where, how far, on either axis. The first row is the highest."""
    left, right = np.searchsorted(across, (columns[0], sum(columns)))
    low, high = np.searchsorted(up[::-1], (rows[0], sum(rows)))
    return slice(len(up) - int(high), len(up) - int(low)), slice(int(left), int(right))


def _plain(rng: Generator, points: Points, colours: tuple[Colour, ...]) -> Values:
    mottled = mixed(colours[0], colours[-1], noise(rng, points, 4, 4))
    return mottled * (0.9 + 0.2 * noise(rng, points, 24, 2))[..., None]


PATTERNS: dict[str, Pattern] = {
    "asphalt": _asphalt,
    "blotches": _blotches,
    "boards": _boards,
    "books": _books,
    "bricks": _bricks,
    "cardboard": _cardboard,
    "cloth": _cloth,
    "facade": _facade,
    "glass": _glass,
    "grass": _grass,
    "ice": _ice,
    "leaves": _leaves,
    "marble": _marble,
    "metal": _metal,
    "paint": _paint,
    "plain": _plain,
    "planks": _planks,
    "plaster": _plaster,
    "rust": _rust,
    "straw": _straw,
    "stripes": _stripes,
    "tiles": _tiles,
}
