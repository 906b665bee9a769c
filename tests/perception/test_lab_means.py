from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Case, Frame, Rollout, Timeline
from lookaway.perception.quality.lab_means import LabMeans

ROLLOUT = Rollout(case=Case(id="room", subset="all", scene="room"), model="model", video=Path("clip.mp4"))
COLOURS = [(0, 0, 0), (255, 255, 255), (119, 119, 119), (255, 0, 0), (0, 255, 0), (0, 0, 255), (12, 130, 77), (3, 3, 4)]


def means(*pictures):
    watching = LabMeans().load().start(ROLLOUT, Timeline(np.arange(len(pictures)) / 8, 8, 6), {})
    for index, picture in enumerate(pictures):
        watching.add_frame(Frame(index, index / 8, picture))
    return watching.finish()["lab"]


def solid(*colour: int):
    return np.full((6, 8, 3), colour, np.uint8)


def naive_lab(colour):
    """sRGB to CIELAB under D65, as the standards write it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    to_xyz = (
        (0.4124564, 0.3575761, 0.1804375),
        (0.2126729, 0.7151522, 0.0721750),
        (0.0193339, 0.1191920, 0.9503041),
    )
    xyz = [sum(weight * value for weight, value in zip(row, linear, strict=True)) for row in to_xyz]
    white = (0.95047, 1.0, 1.08883)
    x, y, z = (
        t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
        for t in (value / reference for value, reference in zip(xyz, white, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("colour", COLOURS)
def test_a_solid_colour_has_the_lab_of_the_standard(colour):
    np.testing.assert_allclose(means(solid(*colour))[0], naive_lab(colour), atol=0.05)


def test_black_and_white_are_the_ends_of_lightness_and_have_no_colour():
    black, white = means(solid(0, 0, 0), solid(255, 255, 255))
    np.testing.assert_allclose(black, (0, 0, 0), atol=0.01)
    np.testing.assert_allclose(white, (100, 0, 0), atol=0.01)


def test_the_mean_is_taken_over_lab_not_over_rgb():
    half = solid(0, 0, 0)
    half[:, 4:] = 255
    assert means(half)[0, 0] == pytest.approx(50, abs=0.01)


def test_every_frame_has_its_own_row_in_order():
    lightness = means(*(solid(grey, grey, grey) for grey in (10, 200, 100)))[:, 0]
    assert lightness[0] < lightness[2] < lightness[1]


def test_every_frame_is_asked_for():
    watching = LabMeans(height=90).load().start(ROLLOUT, Timeline(np.arange(5) / 8, 8, 6), {})
    assert (watching.request.indices, watching.request.height) == (set(range(5)), 90)
