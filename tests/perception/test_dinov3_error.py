from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from lookaway.core import Compute, Reason, Timeline, Unmeasurable
from lookaway.perception.networks import batching
from lookaway.perception.similarity.compared_frames import Canvas, MirroredFrames
from lookaway.perception.similarity.dinov3_embeddings import Dinov3Error
from tests.support.compared import answered, beside, kept
from tests.support.picture_networks import noise, tiny_dinov3
from tests.support.watching import check_documented, perceive, rollout_of

MEAN, STD = (torch.tensor(each).view(3, 1, 1) for each in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
CHANNELS, PATCHES, BEFORE = 32, 196, 1 + 2


@pytest.fixture
def recipe(hub) -> Dinov3Error:
    return Dinov3Error(weights=tiny_dinov3())


def tokens_by_hand(recipe: Dinov3Error, picture: np.ndarray, scale: float) -> torch.Tensor:
    """The network's patches of one picture as the published processor shows it, each divided by its length."""
    values = torch.from_numpy(picture).permute(2, 0, 1)[None].float() / scale
    values = torch.nn.functional.interpolate(values, (224, 224), mode="bilinear", antialias=True)
    model = transformers.DINOv3ViTModel.from_pretrained(recipe.weights.folder())
    with torch.inference_mode():
        tokens = model(pixel_values=(values - MEAN) / STD).last_hidden_state[0, BEFORE:]
    assert tokens.shape == (PATCHES, CHANNELS)
    return tokens / tokens.norm(dim=1, keepdim=True)


def error_by_hand(recipe, first, second, scale=255.0) -> float:
    one, other = (tokens_by_hand(recipe, each, scale).double() for each in (first, second))
    return float((2 - 2 * (one * other).sum(1)).mean() / CHANNELS)


def test_errors_are_those_of_the_published_steps(recipe, tmp_path):
    answer, truth = noise(3, 256, 400), noise(3, 256, 400, seed=1)
    feature = perceive(recipe, answered(tmp_path, answer, truth))
    check_documented(recipe, feature)
    expected = [error_by_hand(recipe, *pair) for pair in zip(answer, truth, strict=True)]
    np.testing.assert_allclose(feature["errors"], expected, rtol=1e-4, atol=1e-9)
    assert (feature["errors"] > 1e-6).all()
    assert feature["partner_indices"].tolist() == [0, 1, 2]


def test_dividing_twice_shows_the_network_all_but_black(recipe, tmp_path):
    answer, truth = noise(1, 120, 200), noise(1, 120, 200, seed=1)
    rollout = answered(tmp_path, answer, truth)
    right, dark = (perceive(replace(recipe, rescales_twice=twice), rollout)["errors"][0] for twice in (False, True))
    assert dark == pytest.approx(error_by_hand(recipe, answer[0], truth[0], 255.0**2), rel=1e-2, abs=1e-10)
    assert dark < right / 100


def test_equal_frames_are_without_error_and_nothing_is_more_than_4_over_channels(recipe, tmp_path):
    truth = noise(2, 64, 96)
    answer = [truth[0], 255 - truth[1]]
    errors = perceive(recipe, answered(tmp_path, answer, truth))["errors"]
    assert errors[0] < 1e-10
    assert errors[0] < errors[1] <= 4 / CHANNELS


def test_who_is_compared_with_whom_does_not_matter(recipe, tmp_path):
    answer, truth = noise(2, 64, 96), noise(2, 64, 96, seed=1)
    there = perceive(recipe, answered(tmp_path / "there", answer, truth))["errors"]
    back = perceive(recipe, answered(tmp_path / "back", truth, answer))["errors"]
    np.testing.assert_allclose(there, back, rtol=1e-4)


def test_a_path_that_is_gone_back_is_compared_with_itself(recipe, tmp_path):
    way = noise(2, 64, 96)
    mirrored = replace(recipe, compared=MirroredFrames())
    feature = perceive(mirrored, kept(tmp_path / "back.mp4", [*way, *way[::-1]]))
    assert feature.detail == {"video_frames": 2 * len(way)}
    assert (feature["errors"] < 1e-10).all()
    assert feature["partner_indices"].tolist() == [3, 2]


def test_frames_on_a_canvas_are_squeezed_from_there(recipe, tmp_path):
    answer, truth, canvas = noise(1, 96, 128), noise(1, 80, 128, seed=1), Canvas(72, 128)
    rollout = answered(tmp_path, answer, truth)
    with pytest.raises(Unmeasurable, match="frames are 128 x 96") as found:
        perceive(recipe, rollout)
    assert found.value.reason is Reason.INVALID_INPUT
    error = perceive(replace(recipe, canvas=canvas), rollout)["errors"][0]
    expected = error_by_hand(recipe, canvas.cover(answer[0]), canvas.cover(truth[0]))
    assert error == pytest.approx(expected, rel=1e-4)


def test_how_many_pairs_go_together_changes_nothing(recipe, tmp_path, monkeypatch):
    rollout = answered(tmp_path, noise(5, 64, 96), noise(5, 64, 96, seed=1))
    whole = perceive(recipe, rollout)["errors"]
    for most in (1, 4):
        monkeypatch.setattr(batching, "MAX_FRAMES", most)
        np.testing.assert_allclose(perceive(recipe, rollout)["errors"], whole, rtol=1e-4)


def test_pairs_of_1080p_that_wait_take_less_than_100_megabytes(recipe):
    mirrored = replace(recipe, compared=MirroredFrames(), canvas=Canvas(720, 1280))
    watch = mirrored.load().start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), 1920, 1080), {})
    assert watch.frames_at_once * 2 * (3 * 1920 * 1080) < 100e6


def test_half_precision_is_near(recipe, tmp_path):
    rollout = answered(tmp_path, noise(1, 64, 96), noise(1, 64, 96, seed=1))
    exact, near = (
        perceive(replace(recipe, compute=Compute(precision=precision)), rollout)["errors"]
        for precision in ("float32", "bfloat16")
    )
    assert near.dtype == np.float32
    assert 0 < abs(exact - near) < 0.3 * exact


def test_without_a_true_video_or_weights_it_declines(recipe, tmp_path, monkeypatch):
    clip = kept(tmp_path / "clip.mp4", noise(1, 64, 96))
    assert recipe.declines(beside(clip, clip)) is None
    assert recipe.declines(rollout_of(clip)).reason is Reason.MISSING_INPUT
    monkeypatch.setenv("HF_HOME", str(tmp_path / "elsewhere"))
    assert recipe.declines(beside(clip, clip)).reason is Reason.MISSING_WEIGHTS
