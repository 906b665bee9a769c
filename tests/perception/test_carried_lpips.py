from __future__ import annotations

import io
import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from lookaway.perception.networks.conv_trunks import ConvTrunk
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork
from tests.support.carried_lpips import ArraysOnly, carried_lpips
from tests.support.picture_networks import in_colours


def picture(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(64, 64, 3))
    return (128 + 500 * cv2.GaussianBlur(noise, (0, 0), 4)).clip(0, 255)


@pytest.fixture(scope="module", params=["alex", "vgg"])
def lpips(request) -> LpipsNetwork:
    trunk, heads = carried_lpips(request.param)
    return LpipsNetwork(ConvTrunk(torch, TRUNKS[request.param], trunk), heads, 1e-10)


def distances(lpips: LpipsNetwork, first: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    batches = (in_colours(pictures) for pictures in ([first] * len(others), others))
    return lpips(*batches).numpy()


def test_a_picture_is_as_far_as_it_looks(lpips):
    first = picture(0)
    noise = np.random.default_rng(9).normal(size=first.shape)
    found = distances(lpips, first, [first, first + 4 * noise, first + 25 * noise, picture(1)])
    assert found[0] == 0
    assert 0 < found[1] < found[2]
    assert found[1] < 0.5 * found[3]


def test_a_moved_picture_looks_nearer_than_its_pixels_are(lpips):
    first = picture(0)
    moved, grey = np.roll(first, 2, axis=1), np.full_like(first, first.mean())
    near, far = distances(lpips, first, [moved, grey])
    assert near < 0.5 * far


def test_every_head_weighs_channels_and_none_below_nothing(lpips):
    for head in lpips.heads.values():
        assert (head >= 0).all()
        assert head.max() > 0


@pytest.mark.parametrize("thing", [Path("a"), len, {"deep": [np.zeros(2), torch.Size([1])]}])
def test_a_pickle_of_anything_but_arrays_is_refused(thing):
    with pytest.raises(pickle.UnpicklingError, match="is no array"):
        ArraysOnly(io.BytesIO(pickle.dumps(thing))).load()
