from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
import transformers

from lookaway.core import Compute, MissingDevice, Reason, Unmeasurable
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.fits import CentreCrop, WholeFrame
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from tests.support.hub import COMMIT, as_saved
from tests.support.networks import tiny_dinov2
from tests.support.watching import check_documented, perceive_frames, rollout_of

WIDTH, HEIGHT = 112, 63


def pictures(count: int = 5, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).integers(0, 256, (count, HEIGHT, WIDTH, 3), np.uint8))


@pytest.fixture
def recipe(hub) -> Dinov2Embeddings:
    return Dinov2Embeddings(weights=tiny_dinov2(), frames=UniformFrames(3), fit=WholeFrame(112))


def test_a_feature_holds_what_is_documented(recipe):
    feature = perceive_frames(recipe, pictures())
    check_documented(recipe, feature)
    assert feature["cls"].shape == (3, 32)
    assert feature["frame_indices"].tolist() == [0, 2, 4]


def test_tokens_are_those_of_the_class_in_transformers(recipe):
    frame = pictures(1)[0]
    feature = perceive_frames(recipe, [frame])
    model = transformers.Dinov2Model.from_pretrained(recipe.weights.folder())
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    values = ((torch.from_numpy(frame).float() / 255 - mean) / std).permute(2, 0, 1)[None]
    padded = torch.nn.functional.pad(values, (0, 0, 0, 70 - HEIGHT))
    with torch.inference_mode():
        tokens = model(pixel_values=padded).last_hidden_state[0]
    np.testing.assert_allclose(feature["cls"][0], tokens[0], atol=1e-5)
    np.testing.assert_allclose(feature["patches"][0], tokens[1 : 1 + 8 * 4], atol=4e-3)


def test_patches_that_show_padding_are_left_out(recipe):
    feature = perceive_frames(recipe, pictures())
    assert feature["grid"].tolist() == [[8, 4]] * 3
    assert feature["patches"].shape == (3, 8 * 4, 32)


def test_a_centre_crop_is_blind_to_the_sides_and_a_whole_frame_is_not(recipe):
    frame, changed = pictures(1)[0], pictures(1)[0].copy()
    changed[:, :8] = 0
    whole = [perceive_frames(recipe, [picture])["cls"] for picture in (frame, changed)]
    cropping = Dinov2Embeddings(weights=recipe.weights, fit=CentreCrop(64, 56))
    cropped = [perceive_frames(cropping, [picture])["cls"] for picture in (frame, changed)]
    assert np.abs(whole[0] - whole[1]).max() > 1e-3
    np.testing.assert_array_equal(*cropped)


def test_two_loads_give_the_same_bytes(recipe):
    first, second = (perceive_frames(recipe, pictures()) for _ in range(2))
    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[name])


def test_tokens_of_patches_are_left_out_where_nobody_wants_them(hub):
    feature = perceive_frames(Dinov2Embeddings(weights=tiny_dinov2(), patches=False), pictures())
    assert set(feature.arrays) == {"cls", "frame_indices"}


def test_half_precision_is_near_and_is_another_recipe(recipe):
    half = Dinov2Embeddings(recipe.weights, recipe.frames, recipe.fit, compute=Compute(precision="bfloat16"))
    exact, near = (perceive_frames(each, pictures())["cls"] for each in (recipe, half))
    assert 0 < np.abs(exact - near).max() < 0.1
    assert half != recipe


def test_missing_weights_decline_with_the_command_that_fetches_them(hub):
    declined = Dinov2Embeddings().declines(rollout_of(hub / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch dinov2-base" in declined.message


def test_a_changed_checkpoint_is_refused(recipe):
    path = recipe.weights.folder() / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(Unmeasurable, match="Nothing was loaded") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_checkpoint_without_one_of_its_parameters_is_refused(hub):
    weights = tiny_dinov2()
    path = weights.folder() / "model.safetensors"
    state = safetensors.torch.load_file(path)
    state.pop("layernorm.weight")
    safetensors.torch.save_file(state, path)
    recipe = Dinov2Embeddings(weights=as_saved("dinov2-base", path.parent, COMMIT))
    with pytest.raises(Unmeasurable, match=r"missing keys: layernorm\.weight") as refused:
        recipe.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_device_that_is_not_there_ends_the_run(hub):
    with pytest.raises(MissingDevice, match="'cuda'"):
        Dinov2Embeddings(weights=tiny_dinov2(), compute=Compute(device="cuda")).load()


def test_regions_of_any_size_are_embedded_each_by_itself(recipe):
    embed = Dinov2Embeddings(weights=recipe.weights, side=56).embedder()
    regions = [*pictures(2), pictures(1)[0][:20, :30], *pictures(3, seed=1)]
    together = embed(regions)
    assert together.shape == (6, 32)
    np.testing.assert_allclose(together, np.concatenate([embed([region]) for region in regions]), atol=1e-5)


def test_frames_are_reduced_before_where_it_is_asked_for(recipe):
    shown = pictures(3)
    size = GeneratedSize(80)
    reduced = perceive_frames(replace(recipe, reduced=size), shown)
    expected = perceive_frames(recipe, [size.reduce(picture) for picture in shown])
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(reduced[name], array)
