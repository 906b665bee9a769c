from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.networks.fits import CentreCrop
from lookaway.perception.quality.aesthetic_quality import LaionAesthetics, MlpAesthetics
from lookaway.perception.similarity.compared_frames import Canvas, GeneratedSize
from tests.support.picture_networks import (
    mlp_head_tensors,
    noise,
    random_aesthetic_head,
    random_mlp_head,
    random_tensors,
    save_tensors,
    tiny_clip,
)
from tests.support.watching import perceive_frames, rollout_of

MEAN, STD = torch.tensor([0.48145466, 0.4578275, 0.40821073]), torch.tensor([0.26862954, 0.26130258, 0.27577711])


@pytest.fixture
def recipe(hub) -> LaionAesthetics:
    weights, head = tiny_clip("clip-vit-l-14"), random_aesthetic_head()
    return LaionAesthetics(weights, head, EveryFrame(), CentreCrop(32, 32, antialias=False))


def embedded_by_hand(recipe: LaionAesthetics, frame: np.ndarray) -> torch.Tensor:
    """Scaled as a tensor of real numbers without a filter, 57 by 32, and cropped from the thirteenth column on."""
    pixels = torch.from_numpy(frame).permute(2, 0, 1)[None].float() / 255
    scaled = torch.nn.functional.interpolate(pixels, (32, 57), mode="bicubic")[:, :, :, 12:44]
    model = transformers.CLIPModel.from_pretrained(recipe.weights.folder())
    with torch.inference_mode():
        values = (scaled - MEAN.view(3, 1, 1)) / STD.view(3, 1, 1)
        vector = model.get_image_features(pixel_values=values).pooler_output[0]
        return vector / vector.norm()


def by_hand(recipe: LaionAesthetics, frame: np.ndarray) -> float:
    head = torch.load(recipe.head.file("sa_0_4_vit_l_14_linear.pth"))
    return float(head["weight"][0] @ embedded_by_hand(recipe, frame) + head["bias"][0])


def test_scores_are_those_of_the_published_steps(recipe):
    frames = noise(2, 64, 114)
    feature = perceive_frames(recipe, frames)
    np.testing.assert_allclose(feature["aesthetic"], [by_hand(recipe, frame) for frame in frames], atol=1e-5)
    assert feature.detail == {"video_frames": 2}


def test_a_filter_against_aliasing_is_another_recipe_and_other_numbers(recipe):
    filtered = LaionAesthetics(recipe.weights, recipe.head, recipe.frames, CentreCrop(32, 32))
    first, second = (perceive_frames(each, noise(1, 64, 114))["aesthetic"] for each in (recipe, filtered))
    assert filtered != recipe
    assert abs(first - second) > 1e-3


def test_scores_are_blind_to_the_sides(recipe):
    frame, changed = noise(1, 64, 114)[0], noise(1, 64, 114)[0]
    changed[:, :20] = 0
    first, second = (perceive_frames(recipe, [picture])["aesthetic"] for picture in (frame, changed))
    np.testing.assert_array_equal(first, second)


def test_without_the_head_it_declines(hub):
    recipe = LaionAesthetics(weights=tiny_clip("clip-vit-l-14"))
    declined = recipe.declines(rollout_of(hub / "clip.mp4"))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert "lookaway weights fetch laion-aesthetic-linear" in declined.message


def test_a_head_for_another_network_is_refused(recipe):
    head = save_tensors("laion-aesthetic-linear", random_tensors({"weight": (1, 768), "bias": (1,)}))
    with pytest.raises(Unmeasurable, match=r"weight has the shape \(1, 768\), expected \(1, 16\)") as refused:
        LaionAesthetics(recipe.weights, head).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_on_a_canvas_frames_of_any_size_are_scored_as_though_they_had_its_size(recipe):
    canvas, frames = Canvas(64, 114), noise(2, 100, 120)
    asking = LaionAesthetics(recipe.weights, recipe.head, recipe.frames, recipe.fit, canvas=canvas)
    expected = [by_hand(recipe, canvas.cover(frame)) for frame in frames]
    np.testing.assert_allclose(perceive_frames(asking, frames)["aesthetic"], expected, atol=1e-5)


def test_frames_of_1080p_that_wait_for_a_canvas_are_few(recipe):
    asking = LaionAesthetics(recipe.weights, recipe.head, recipe.frames, recipe.fit, canvas=Canvas(720, 1280))
    watch = asking.load().start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), 1920, 1080), {})
    assert watch.frames_at_once == 2


# The head of five layers


@pytest.fixture
def published(hub) -> MlpAesthetics:
    fit = CentreCrop(32, 32, antialias=False)
    return MlpAesthetics(tiny_clip("clip-vit-l-14"), random_mlp_head(), EveryFrame(), fit)


def test_scores_of_the_published_head_are_those_of_its_layers_with_nothing_between(published):
    frames = noise(2, 64, 114)
    weight, bias = torch.eye(16, dtype=torch.float64), torch.zeros(16, dtype=torch.float64)
    for place in (0, 2, 4, 6, 7):
        own = mlp_head_tensors()[f"layers.{place}.weight"].double()
        weight, bias = own @ weight, own @ bias + mlp_head_tensors()[f"layers.{place}.bias"]
    expected = [float(weight[0] @ embedded_by_hand(published, frame).double() + bias[0]) for frame in frames]
    np.testing.assert_allclose(perceive_frames(published, frames)["aesthetic"], expected, atol=1e-4)


def test_a_recipe_with_the_published_head_declines_without_it(hub):
    declined = MlpAesthetics(weights=tiny_clip("clip-vit-l-14")).declines(rollout_of(hub / "clip.mp4"))
    assert "lookaway weights fetch laion-aesthetic-mlp" in declined.message


def test_the_linear_head_is_not_taken_for_the_published_one(published):
    head = save_tensors("laion-aesthetic-mlp", random_tensors({"weight": (1, 16), "bias": (1,)}))
    with pytest.raises(Unmeasurable, match=r"missing: layers\.0\.weight"):
        MlpAesthetics(published.weights, head).load()


def test_frames_are_reduced_to_a_longest_side_before(recipe):
    frames = noise(2, 128, 228)
    size = GeneratedSize(114)
    asking = LaionAesthetics(recipe.weights, recipe.head, recipe.frames, recipe.fit, canvas=size)
    expected = [by_hand(recipe, size.reduce(frame)) for frame in frames]
    np.testing.assert_allclose(perceive_frames(asking, frames)["aesthetic"], expected, atol=1e-5)
