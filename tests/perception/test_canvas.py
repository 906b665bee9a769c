from __future__ import annotations

import numpy as np
import pytest
import torch

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.perception.similarity.compared_frames import Canvas, shown
from tests.support.picture_networks import noise

CANVAS = Canvas(720, 1280)
SIZES = [
    (1080, 1920),
    (720, 1280),
    (480, 832),
    (368, 640),
    (367, 641),
    (721, 1279),
    (832, 480),
    (480, 1023),
    (720, 1287),
]


def by_torch(picture: np.ndarray, dtype: torch.dtype) -> np.ndarray:
    """Scaled until it covers 720 x 1280 and cropped in the middle, as tensors are."""
    height, width = picture.shape[:2]
    scale = max(1280 / width, 720 / height)
    size = (720, 1280) if height * 1280 == width * 720 else (round(height * scale), round(width * scale))
    pixels = torch.from_numpy(picture).permute(2, 0, 1)[None].to(dtype)
    scaled = torch.nn.functional.interpolate(pixels, size, mode="bilinear", align_corners=False)[0].permute(1, 2, 0)
    top, left = (round((length - kept) / 2) for length, kept in zip(size, (720, 1280), strict=True))
    return scaled[top : top + 720, left : left + 1280].numpy()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_picture_is_scaled_and_cropped_as_torch_does_it(size):
    (picture,) = noise(1, *size)
    found = CANVAS.cover(picture)
    assert (found.shape, found.dtype) == ((720, 1280, 3), np.float32)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, by_torch(picture, torch.float64), atol=1e-4)
    # In single precision torch rounds where pixels come from, which shows in noise and nowhere else.
    np.testing.assert_allclose(found, by_torch(picture, torch.float32), atol=0.03)


@pytest.mark.parametrize("size", [(1080, 1920), (368, 640)], ids=str)
def test_where_scales_are_simple_not_one_bit_differs_from_torch(size):
    (picture,) = noise(1, *size)
    np.testing.assert_array_equal(CANVAS.cover(picture), by_torch(picture, torch.float32))


def test_a_picture_of_the_right_size_is_not_touched():
    (picture,) = noise(1, 36, 64)
    np.testing.assert_array_equal(Canvas(36, 64).cover(picture), picture)


def test_a_wide_picture_loses_its_sides_and_a_tall_one_its_top_and_bottom():
    wide, tall = np.zeros((2, 6, 3), np.uint8), np.zeros((6, 2, 3), np.uint8)
    wide[:, 2:4], tall[2:4] = 255, 255
    for picture in (wide, tall):
        np.testing.assert_array_equal(Canvas(2, 2).cover(picture), 255)


def test_fine_patterns_are_not_filtered():
    stripes = np.zeros((6, 6, 3), np.uint8)
    stripes[:, 1::3] = 255
    np.testing.assert_array_equal(Canvas(2, 2).cover(stripes), 255)


def test_a_picture_of_which_next_to_nothing_would_be_left_is_refused():
    with pytest.raises(Unmeasurable, match="frames of 2000 x 8 would lose more than 7 parts in 8") as found:
        CANVAS.cover(np.zeros((8, 2000, 3), np.uint8))
    assert found.value.reason is Reason.INVALID_INPUT


def test_a_canvas_has_rows_and_columns():
    with pytest.raises(ValueError, match="found 0 x 4"):
        Canvas(0, 4)
    with pytest.raises(ValueError, match="found 4 x -1"):
        Canvas(4, -1)


@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (640, 368), (7680, 4320)])
def test_frames_that_wait_take_no_more_than_64_megabytes_with_what_they_become(width, height):
    frame = 3 * width * height + 2 * 4 * 3 * 720 * 1280
    waiting = CANVAS.frames_at_once(Timeline(np.arange(9.0), width, height))
    assert (waiting + 1) * frame > 64 * 2**20
    assert waiting * frame <= 64 * 2**20 or waiting == 1


def test_without_a_canvas_pictures_are_the_very_same():
    pictures = noise(2, 8, 8)
    assert shown(pictures, None) is pictures
    assert [picture.shape for picture in shown(pictures, Canvas(4, 4))] == [(4, 4, 3)] * 2
