from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.perception.similarity.frame_fidelity import ssim

RNG = np.random.default_rng(0)
SIZE = (20, 26)


def by_definition(first, second, window, sigma):
    """SSIM pixel by pixel, as the formula is written, where the window lies inside the picture."""
    half = window // 2
    steps = np.arange(window) - half
    bell = np.exp(-(steps[:, None] ** 2 + steps[None] ** 2) / (2 * sigma**2))
    weights = bell / bell.sum()
    rows, columns = first.shape
    found = np.full(first.shape, np.nan)
    for row in range(half, rows - half):
        for column in range(half, columns - half):
            area = slice(row - half, row + half + 1), slice(column - half, column + half + 1)
            x, y = first[area], second[area]
            mean_x, mean_y = (weights * x).sum(), (weights * y).sum()
            var_x, var_y = (weights * (x - mean_x) ** 2).sum(), (weights * (y - mean_y) ** 2).sum()
            covariance = (weights * (x - mean_x) * (y - mean_y)).sum()
            above = (2 * mean_x * mean_y + 2.55**2) * (2 * covariance + 7.65**2)
            found[row, column] = above / ((mean_x**2 + mean_y**2 + 2.55**2) * (var_x + var_y + 7.65**2))
    return found


@pytest.mark.parametrize(("window", "sigma"), [(7, 1.5), (11, 1.5), (5, 0.8)])
def test_it_is_what_the_formula_says(window, sigma):
    first = RNG.uniform(0, 255, SIZE)
    second = np.clip(0.7 * first + RNG.normal(0, 30, SIZE), 0, 255)
    found = ssim(cv2, first, second, window=window, sigma=sigma)
    expected = by_definition(first, second, window, sigma)
    inside = np.isfinite(expected)
    assert found.shape == SIZE
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-9)


def test_a_picture_is_like_itself_everywhere():
    picture = RNG.uniform(0, 255, SIZE).astype(np.float32)
    np.testing.assert_allclose(ssim(cv2, picture, picture, window=7, sigma=1.5), 1, atol=1e-12)


def test_the_negative_of_a_picture_is_less_like_it_than_noise():
    picture = RNG.uniform(0, 255, SIZE)
    negative, noise = (
        ssim(cv2, picture, other, window=7, sigma=1.5).mean() for other in (255 - picture, RNG.uniform(0, 255, SIZE))
    )
    assert negative < -0.7 < noise < 0.2


def test_of_flat_pictures_only_brightness_is_compared():
    found = ssim(cv2, np.full(SIZE, 50.0), np.full(SIZE, 100.0), window=7, sigma=1.5)
    np.testing.assert_allclose(found, (2 * 50 * 100 + 2.55**2) / (50**2 + 100**2 + 2.55**2))


def test_brightness_that_is_added_costs_less_than_contrast_that_is_lost():
    picture = RNG.uniform(100, 155, SIZE)
    brighter, flatter = (
        ssim(cv2, picture, other, window=7, sigma=1.5).mean()
        for other in (picture + 20, 0.3 * picture + 0.7 * picture.mean())
    )
    assert flatter < 0.7 < 0.98 < brighter < 1
