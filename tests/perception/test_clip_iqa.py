from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from lookaway.core import Reason, Timeline, Unmeasurable
from lookaway.perception.networks.clip_resnet import RN50, ClipResnet, clip_shapes
from lookaway.perception.quality.clip_iqa import ClipIqa
from lookaway.perception.similarity.compared_frames import Canvas, GeneratedSize
from tests.support.picture_networks import (
    TINY_RESNET,
    clip_iqa_prompts,
    clip_resnet_tensors,
    noise,
    save_content,
    tiny_clip_iqa,
)
from tests.support.watching import check_documented, perceive_frames, rollout_of

GOLDEN = {
    (64, 96): [0.9710454344749451, 0.9792537689208984],
    (75, 50): [0.9832175970077515, 0.9858286380767822],
}
"""By `open_clip` 3.3.0 for `noise(2, height, width)`, without positions of pictures; prompts are made as in pyiqa."""


@pytest.fixture
def recipe(hub, monkeypatch) -> ClipIqa:
    return tiny_clip_iqa(monkeypatch)


@pytest.mark.parametrize("size", GOLDEN, ids=str)
def test_quality_is_that_of_the_published_code(recipe, size):
    feature = perceive_frames(recipe, noise(2, *size))
    check_documented(recipe, feature)
    np.testing.assert_allclose(feature["quality"], GOLDEN[size], atol=1e-5)
    assert feature.detail == {"video_frames": 2}


def test_the_network_has_all_its_published_parameters():
    shapes = clip_shapes(RN50)
    learned = {name: shape for name, shape in shapes.items() if "running" not in name}
    assert sum(int(np.prod(shape)) for shape in learned.values()) == 102_007_137
    assert shapes["visual.layer4.0.downsample.0.weight"] == (2048, 1024, 1, 1)
    assert shapes["visual.attnpool.positional_embedding"] == (50, 2048)
    assert shapes["transformer.resblocks.11.attn.in_proj_weight"] == (1536, 512)


def test_a_prompt_has_the_named_tokens_between_the_halves_of_the_learned_ones(recipe):
    clip = ClipResnet(torch, clip_resnet_tensors(), TINY_RESNET, 64)
    embedded, learned = clip.embed_tokens(range(24)), clip_iqa_prompts()[0]
    prompt = recipe._prompt(clip, learned, range(24))
    assert prompt.shape == embedded.shape
    expected = [embedded[:1], learned[:8], embedded[17:20], learned[8:], embedded[20:]]
    np.testing.assert_array_equal(prompt, torch.cat(expected))


def test_what_follows_the_last_token_of_a_text_cannot_change_it():
    clip = ClipResnet(torch, clip_resnet_tensors(), TINY_RESNET, 64)
    embedded = clip.embed_tokens([188, 3, 5, 189])
    changed = clip.embed_tokens([188, 3, 7, 189])
    assert not torch.allclose(clip.text(embedded), clip.text(changed))
    np.testing.assert_array_equal(clip.text(embedded[:2]), clip.text(changed[:2]))


def test_frames_are_reduced_to_a_longest_side_before(recipe):
    frames = noise(2, 96, 192)
    small = [cv2.resize(frame, (96, 48), interpolation=cv2.INTER_AREA) for frame in frames]
    reduced = perceive_frames(replace(recipe, canvas=GeneratedSize(96)), frames)["quality"]
    np.testing.assert_allclose(reduced, perceive_frames(recipe, small)["quality"], atol=1e-6)
    assert np.abs(reduced - perceive_frames(recipe, frames)["quality"]).max() > 1e-4


def test_frames_of_1080p_that_wait_are_few(recipe):
    for canvas, expected in ((GeneratedSize(64), 10), (Canvas(720, 1280), 2)):
        asking = replace(recipe, canvas=canvas).load()
        watch = asking.start(rollout_of(Path("clip.mp4")), Timeline(np.arange(90.0), 1920, 1080), {})
        assert watch.frames_at_once == expected


@pytest.mark.parametrize("name", ["clip-rn50", "clip-iqa-plus-prompts", "clip-tokenizer"])
def test_any_missing_weights_decline_with_the_command_that_fetches_them(recipe, name):
    field = {"clip-rn50": "weights", "clip-iqa-plus-prompts": "prompts", "clip-tokenizer": "tokenizer"}[name]
    assert recipe.declines(rollout_of(Path("clip.mp4"))) is None
    declined = replace(recipe, **{field: getattr(ClipIqa(), field)}).declines(rollout_of(Path("clip.mp4")))
    assert declined.reason is Reason.MISSING_WEIGHTS
    assert f"lookaway weights fetch {name}" in declined.message


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (torch.zeros(16, 128), r"ctx has the shape \(16, 128\), expected \(2, 16, 128\)"),
        ({"context": torch.zeros(2, 16, 128)}, "missing: ctx"),
        ([1, 2], "the file holds a list"),
    ],
    ids=["shape", "name", "list"],
)
def test_other_prompts_are_refused(recipe, content, problem):
    other = replace(recipe, prompts=save_content("clip-iqa-plus-prompts", content))
    with pytest.raises(Unmeasurable, match=problem) as refused:
        other.load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_file_that_is_no_safetensors_is_refused(recipe):
    weights = save_content("clip-rn50", {})
    with pytest.raises(Unmeasurable, match="clip-rn50 do not load") as refused:
        replace(recipe, weights=weights).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
