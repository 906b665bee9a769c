from __future__ import annotations

import numpy as np
import pytest
import torch

from lookaway.core import JudgeUnusable
from lookaway.judges.errors import PermanentError
from lookaway.judges.local.network import Patches

SETTINGS = {
    "image_processor_type": "Qwen2VLImageProcessor",
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "size": {"shortest_edge": 4 * 28**2, "longest_edge": 64 * 28**2},
}
# What Qwen2VLImageProcessor of transformers 5.22 on torchvision 0.28 makes of `gradient()`: patch, value in it, number.
PUBLISHED = [
    (0, 0, -1.7923),
    (1, 13, -1.0915),
    (2, 200, -0.8726),
    (3, 500, 0.7542),
    (5, 391, 0.3975),
    (7, 1000, 1.7335),
    (9, 588, 0.7242),
    (15, 1175, 0.3684),
    (31, 1175, 1.9610),
]
# A step of one in 255, and a little: the least that processors of another make would differ by.
ONE_STEP = 0.016
PUBLISHED_GRIDS = {
    (45, 100): (4, 8),
    (480, 832): (12, 20),
    (20, 30): (4, 6),
    (28, 28): (4, 4),
    (500, 30): (36, 2),
    (10, 1500): (2, 50),
    (20, 4000): (2, 226),
}


def gradient() -> np.ndarray:
    row, column, colour = np.indices((45, 100, 3))
    return ((row * 5 + column * 2 + colour * 40) % 256).astype(np.uint8)


def test_pictures_are_cut_as_the_published_processor_cuts_them() -> None:
    cut = Patches.of(SETTINGS).cut(torch, gradient())
    assert cut.shape == (32, 1176)
    for patch, value, expected in PUBLISHED:
        assert cut[patch, value].item() == pytest.approx(expected, abs=ONE_STEP)
    assert cut.sum().item() == pytest.approx(7200.0986, abs=1.0)


@pytest.mark.parametrize("size", PUBLISHED_GRIDS)
def test_pictures_are_as_large_as_the_published_processor_makes_them(size: tuple[int, int]) -> None:
    patches = Patches.of(SETTINGS)
    grid = patches.grid(*size)
    assert grid == PUBLISHED_GRIDS[size]
    assert patches.tokens(grid) == grid[0] * grid[1] // 4


def test_merged_patches_follow_one_another_and_stand_still() -> None:
    patches = Patches(patch_size=2, merge_size=2, min_pixels=1, mean=(0.0,) * 3, deviation=(1.0,) * 3)
    pixels = np.arange(4 * 8 * 3).reshape(4, 8, 3).astype(np.uint8)
    cut = (patches.cut(torch, pixels) * 255).round().int().view(8, 3, 2, 2, 2)
    corners = [(0, 0), (0, 2), (2, 0), (2, 2), (0, 4), (0, 6), (2, 4), (2, 6)]
    for patch, (top, left) in enumerate(corners):
        expected = pixels[top : top + 2, left : left + 2].transpose(2, 0, 1)
        for moment in range(2):
            assert np.array_equal(cut[patch, :, moment].numpy(), expected)


def test_older_settings_name_the_same_sizes_otherwise() -> None:
    older = {**SETTINGS, "size": {"shortest_edge": 1, "longest_edge": 2}, "min_pixels": 4 * 28**2}
    older = {**older, "max_pixels": 64 * 28**2, "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
    found, usual = Patches.of(older), Patches.of(SETTINGS)
    assert (found.min_pixels, found.max_pixels) == (usual.min_pixels, usual.max_pixels)
    assert (list(found.mean), list(found.deviation)) == ([0.5] * 3, [0.25] * 3)
    assert Patches.of({"image_processor_type": "Qwen2VLImageProcessorFast"}) == Patches()


@pytest.mark.parametrize(
    "changes",
    [
        {"image_processor_type": "CLIPImageProcessor"},
        {"image_processor_type": None},
        {"resample": 2},
        {"do_normalize": False},
        {"rescale_factor": 1.0},
    ],
)
def test_pictures_that_are_wanted_in_another_way_are_declined(changes: dict[str, object]) -> None:
    with pytest.raises(JudgeUnusable, match="image processor"):
        Patches.of({**SETTINGS, **changes})


def test_a_thread_of_pixels_is_no_picture() -> None:
    assert Patches().grid(2, 400) == (2, 58)
    for size in ((2, 401), (401, 2)):
        with pytest.raises(PermanentError, match="too elongated"):
            Patches().grid(*size)
