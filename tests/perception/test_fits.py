from __future__ import annotations

import numpy as np
import pytest
import torch

from lookaway.core import Compute
from lookaway.perception.networks.fits import (
    BlackPaddedFrame,
    CentreCrop,
    Colours,
    Fitted,
    Squeezed,
    WholeFrame,
    to_input,
)

BYTES = Colours(mean=(0, 0, 0), std=(1 / 255, 1 / 255, 1 / 255))
"""With these a tensor holds the bytes of the picture."""
PILLOW = {
    "bicubic": [[125, 136, 129, 139], [116, 129, 137, 108], [117, 107, 126, 107]],
    "bilinear": [[125, 134, 130, 137], [118, 128, 134, 111], [116, 109, 125, 109]],
}
"""The red channel of a seeded picture of 16 x 12, resized to 4 x 3 by Pillow 12."""


def picture(height: int = 12, width: int = 16) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)


def shown(fitted: Fitted, *pictures: np.ndarray) -> np.ndarray:
    return to_input(torch, pictures, fitted, BYTES, Compute()).permute(0, 2, 3, 1).numpy()


@pytest.mark.parametrize("interpolation", PILLOW)
def test_scaling_is_that_of_pillow_to_one_level(interpolation):
    fitted = Squeezed(4, 3, interpolation).fitted(16, 12, 1)
    np.testing.assert_allclose(shown(fitted, picture())[0, ..., 0], PILLOW[interpolation], atol=1)


def test_fine_patterns_become_grey_and_not_another_pattern():
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    fitted = Squeezed(8, 8).fitted(64, 64, 1)
    np.testing.assert_allclose(shown(fitted, stripes)[:, :, 1:-1], 127.5, atol=2)


def test_a_centre_crop_keeps_the_middle():
    fitted = CentreCrop(256, 224).fitted(832, 480, 14)
    assert (fitted.scaled, fitted.corner, fitted.window) == ((443, 256), (109, 16), (224, 224))
    assert fitted.kept_patches(14) == (16, 16)


def test_a_centre_crop_of_an_upright_frame_keeps_its_middle_too():
    fitted = CentreCrop(256, 224).fitted(480, 832, 14)
    assert (fitted.scaled, fitted.corner) == ((256, 443), (16, 109))


def test_a_whole_frame_is_padded_right_and_below_with_the_mean_colour():
    fitted = WholeFrame(16).fitted(16, 12, 5)
    assert (fitted.scaled, fitted.window) == ((16, 12), (20, 15))
    seen = to_input(torch, [picture()], fitted, Colours(), Compute()).numpy()
    assert seen.shape == (1, 3, 15, 20)
    assert not seen[:, :, 12:].any()
    assert not seen[:, :, :, 16:].any()
    np.testing.assert_allclose(shown(fitted, picture())[0, :12, :16], picture(), atol=1e-3)


def test_patches_with_padding_in_them_are_not_whole():
    assert WholeFrame(16).fitted(16, 12, 5).kept_patches(5) == (3, 2)
    assert WholeFrame(16).fitted(16, 12, 4).kept_patches(4) == (4, 3)


def test_a_black_padded_frame_counts_every_patch_that_shows_some_of_it():
    fitted = BlackPaddedFrame(16).fitted(16, 12, 5)
    assert fitted.kept_patches(5) == (4, 3)
    assert BlackPaddedFrame(18).fitted(18, 12, 5).kept_patches(5) == (4, 3)
    seen = to_input(torch, [picture()], fitted, Colours(), Compute()).numpy()
    black = -np.array(Colours().mean) / np.array(Colours().std)
    np.testing.assert_allclose(seen[0, :, 13, 17], black, atol=1e-5)
    np.testing.assert_allclose(shown(fitted, picture())[0, :12, :16], picture(), atol=1e-3)


def test_a_frame_thinner_than_a_patch_still_gives_one():
    fitted = WholeFrame(112).fitted(4000, 20, 14)
    assert fitted.window[1] == 14
    assert fitted.kept_patches(14)[1] == 1


def test_a_frame_of_the_right_size_is_not_touched():
    np.testing.assert_allclose(shown(Squeezed(16, 12).fitted(16, 12, 1), picture())[0], picture(), atol=1e-3)


def test_colours_are_shifted_and_spread_as_the_network_was_trained():
    seen = to_input(torch, [np.full((4, 4, 3), 255, np.uint8)], Squeezed(4, 4).fitted(4, 4, 1), Colours(), Compute())
    np.testing.assert_allclose(
        seen[0, :, 0, 0], [(1 - 0.485) / 0.229, (1 - 0.456) / 0.224, (1 - 0.406) / 0.225], rtol=1e-6
    )


def test_each_picture_of_a_batch_is_as_it_is_alone():
    fitted = Squeezed(6, 5, "bicubic").fitted(16, 12, 1)
    pictures = [picture(), picture()[::-1].copy(), picture()[:, ::-1].copy()]
    together = shown(fitted, *pictures)
    for position, alone in enumerate(pictures):
        np.testing.assert_array_equal(together[position], shown(fitted, alone)[0])


def test_half_precision_reaches_the_network():
    half = to_input(torch, [picture()], Squeezed(4, 4).fitted(16, 12, 1), Colours(), Compute(precision="bfloat16"))
    assert half.dtype == torch.bfloat16


@pytest.mark.parametrize(("width", "down", "rounded"), [(640, 115, 116), (633, 113, 113), (645, 117, 117)])
def test_the_corner_of_the_middle_is_rounded_down_or_as_torchvision_does(width, down, rounded):
    """The middle of 455, 450 and 458 columns begins at 115.5, 113 and 117."""
    corners = [CentreCrop(256, 224, rounds_corner=rounds).fitted(width, 360, 14).corner for rounds in (False, True)]
    assert corners == [(down, 16), (rounded, 16)]
