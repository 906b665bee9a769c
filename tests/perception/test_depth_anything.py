from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from lookaway.core import Reason, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.depth.depth_anything import DepthAnything, input_size
from lookaway.perception.similarity.compared_frames import GeneratedSize
from tests.support.hub import COMMIT, as_saved
from tests.support.picture_networks import noise, tiny_depth_anything
from tests.support.watching import perceive_frames

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


@pytest.fixture
def recipe(hub) -> DepthAnything:
    return DepthAnything(tiny_depth_anything(), EveryFrame(), height=56, side=56)


def test_maps_are_those_of_the_class_in_transformers(recipe):
    frame = noise(1, 56, 84)[0]
    feature = perceive_frames(recipe, [frame])
    model = transformers.DepthAnythingForDepthEstimation.from_pretrained(recipe.weights.folder())
    values = ((torch.from_numpy(frame).float() / 255 - MEAN) / STD).permute(2, 0, 1)[None]
    with torch.inference_mode():
        expected = model(pixel_values=values).predicted_depth
    assert expected.shape == (1, 56, 84)
    np.testing.assert_allclose(feature["inverse_depth"], expected, rtol=2e-3, atol=1e-4)


def test_frames_and_maps_of_other_sizes_are_scaled_without_aliasing(recipe):
    small = DepthAnything(recipe.weights, EveryFrame(), height=20, side=56)
    frame = noise(1, 112, 168)[0]
    found = perceive_frames(small, [frame])["inverse_depth"]
    model = transformers.DepthAnythingForDepthEstimation.from_pretrained(recipe.weights.folder())
    scale = partial(torch.nn.functional.interpolate, antialias=True, align_corners=False)
    scaled = scale(torch.from_numpy(frame).permute(2, 0, 1)[None], size=(56, 84), mode="bicubic")
    values = (scaled.float() / 255 - MEAN.view(3, 1, 1)) / STD.view(3, 1, 1)
    with torch.inference_mode():
        expected = scale(model(pixel_values=values).predicted_depth[None], size=(20, 30), mode="bilinear")
    assert found.shape == (1, 20, 30)
    np.testing.assert_allclose(found, expected[0], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ((1280, 720), (924, 518)),
        ((832, 480), (896, 518)),
        ((480, 832), (518, 896)),
        ((1280, 704), (938, 518)),
        ((320, 240), (518, 392)),
        ((518, 518), (518, 518)),
        ((1920, 1080), (924, 518)),
    ],
    ids=str,
)
def test_the_input_has_the_size_that_the_published_processor_chooses(frame, expected):
    assert input_size(*frame, 518, 14) == expected


def test_a_checkpoint_without_one_of_its_parameters_is_refused(recipe):
    path = recipe.weights.folder() / "model.safetensors"
    state = safetensors.torch.load_file(path)
    state.pop("head.conv1.weight")
    safetensors.torch.save_file(state, path)
    changed = DepthAnything(as_saved("depth-anything-v2-small", path.parent, COMMIT))
    with pytest.raises(Unmeasurable, match=r"missing keys: head\.conv1\.weight") as refused:
        changed.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_the_networks_own_map_of_a_reduced_frame_is_kept_where_it_is_asked_for(recipe):
    frame, size = noise(1, 112, 168)[0], GeneratedSize(63)
    own = replace(recipe, height=None)
    found = perceive_frames(replace(own, canvas=size), [frame])["inverse_depth"]
    expected = perceive_frames(own, [size.reduce(frame)])["inverse_depth"]
    assert size.reduce(frame).shape == (42, 63, 3)
    assert found.shape[1:] == tuple(reversed(input_size(63, 42, 56, 14)))
    np.testing.assert_array_equal(found, expected)
