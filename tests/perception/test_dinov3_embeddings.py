from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.fits import Squeezed, WholeFrame
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Embeddings
from tests.support.picture_networks import noise, tiny_dinov3
from tests.support.watching import perceive_frames

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


@pytest.fixture
def recipe(hub) -> Dinov3Embeddings:
    return Dinov3Embeddings(tiny_dinov3(), UniformFrames(3), Squeezed(64, 64))


def test_tokens_are_those_of_the_class_in_transformers_without_registers(recipe):
    frame = noise(1, 64, 64)[0]
    feature = perceive_frames(recipe, [frame])
    model = transformers.DINOv3ViTModel.from_pretrained(recipe.weights.folder())
    values = ((torch.from_numpy(frame).float() / 255 - MEAN) / STD).permute(2, 0, 1)[None]
    with torch.inference_mode():
        tokens = model(pixel_values=values).last_hidden_state[0]
    assert len(tokens) == 1 + 2 + 16
    np.testing.assert_allclose(feature["cls"][0], tokens[0], atol=1e-5)
    np.testing.assert_allclose(feature["patches"][0], tokens[3:], atol=4e-3)


def test_a_wide_frame_is_squeezed_whole_into_the_input(recipe):
    wide, changed = noise(1, 64, 128)[0], noise(1, 64, 128)[0]
    changed[:, :8] = 0
    first, second = (perceive_frames(recipe, [picture]) for picture in (wide, changed))
    assert first["grid"].tolist() == [[4, 4]]
    assert np.abs(first["cls"] - second["cls"]).max() > 1e-3


def test_patches_that_show_padding_are_left_out(hub):
    feature = perceive_frames(Dinov3Embeddings(tiny_dinov3(), fit=WholeFrame(112)), noise())
    assert feature["grid"][0].tolist() == [7, 3]
    assert feature["patches"].shape[1] == 21


def test_regions_of_any_size_are_embedded_each_by_itself(recipe):
    embed = Dinov3Embeddings(weights=recipe.weights, side=48).embedder()
    regions = [*noise(2), noise(1)[0][:20, :30]]
    together = embed(regions)
    assert together.shape == (3, 32)
    np.testing.assert_allclose(together, np.concatenate([embed([region]) for region in regions]), atol=1e-5)
    larger = Dinov3Embeddings(weights=recipe.weights, side=64).embedder()
    assert np.abs(larger(regions) - together).max() > 1e-4
