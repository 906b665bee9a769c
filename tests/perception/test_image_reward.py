from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from lookaway.core import Reason, Unmeasurable
from lookaway.io.sampling import EveryFrame
from lookaway.perception.networks.fits import CentreCrop
from lookaway.perception.quality import image_reward
from lookaway.perception.quality.image_reward import ImageRewards
from lookaway.perception.similarity.compared_frames import GeneratedSize
from tests.support.hub import put_into_hub
from tests.support.mask_networks import save_tokenizer
from tests.support.picture_networks import noise, random_tensors, save_tensors
from tests.support.watching import check_documented, perceive_frames, rollout_of

WIDE, NARROW, LAYERS, HEADS, SIDE, PATCH = 32, 24, 2, 2, 32, 8
VISION = {
    "hidden_size": WIDE,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "image_size": SIDE,
    "patch_size": PATCH,
    "layer_norm_eps": 1e-6,
}
TEXT = {
    "vocab_size": 1200,
    "hidden_size": NARROW,
    "encoder_hidden_size": WIDE,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "max_position_embeddings": 64,
    "layer_norm_eps": 1e-12,
}
PROMPT = rollout_of(Path("clip.mp4"), prompt=("a red ball",))


def linear(name: str, columns: int, rows: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def shapes(side: int = SIDE, patch: int = PATCH) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a small network, as the published file has them."""
    seeing, reading = "blip.visual_encoder", "blip.text_encoder"
    found = {
        f"{seeing}.cls_token": (1, 1, WIDE),
        f"{seeing}.pos_embed": (1, (side // patch) ** 2 + 1, WIDE),
        f"{seeing}.patch_embed.proj.weight": (WIDE, 3, patch, patch),
        f"{seeing}.patch_embed.proj.bias": (WIDE,),
        f"{reading}.embeddings.word_embeddings.weight": (1200, NARROW),
        f"{reading}.embeddings.position_embeddings.weight": (64, NARROW),
        "blip.vision_proj.weight": (8, WIDE),
    }
    found |= norm(f"{seeing}.norm", WIDE) | norm(f"{reading}.embeddings.LayerNorm", NARROW)
    for layer in range(LAYERS):
        block, part = f"{seeing}.blocks.{layer}", f"{reading}.encoder.layer.{layer}"
        found |= norm(f"{block}.norm1", WIDE) | norm(f"{block}.norm2", WIDE)
        found |= linear(f"{block}.attn.qkv", WIDE, 3 * WIDE) | linear(f"{block}.attn.proj", WIDE, WIDE)
        found |= linear(f"{block}.mlp.fc1", WIDE, 48) | linear(f"{block}.mlp.fc2", 48, WIDE)
        for kind, width in (("attention", NARROW), ("crossattention", WIDE)):
            found |= linear(f"{part}.{kind}.self.query", NARROW, NARROW)
            found |= linear(f"{part}.{kind}.self.key", width, NARROW)
            found |= linear(f"{part}.{kind}.self.value", width, NARROW)
            found |= linear(f"{part}.{kind}.output.dense", NARROW, NARROW)
            found |= norm(f"{part}.{kind}.output.LayerNorm", NARROW)
        found |= linear(f"{part}.intermediate.dense", NARROW, 48) | linear(f"{part}.output.dense", 48, NARROW)
        found |= norm(f"{part}.output.LayerNorm", NARROW)
    widths = [NARROW, 1024, 128, 64, 16, 1]
    for place, before, after in zip((0, 2, 4, 6, 7), widths, widths[1:], strict=False):
        found |= linear(f"mlp.layers.{place}", before, after)
    return found


class Spelled:
    """The network, spelled out from the names of the published file."""

    def __init__(self, tensors):
        self.tensors = tensors

    def linear(self, x, name):
        return functional.linear(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def norm(self, x, name, eps):
        return functional.layer_norm(x, x.shape[-1:], self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"], eps)

    @staticmethod
    def attended(query, key, value):
        query, key, value = (x.unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in (query, key, value))
        weights = (query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])).softmax(-1)
        return (weights @ value).transpose(1, 2).flatten(2)

    def seen(self, batch):
        name, own = "blip.visual_encoder", self.tensors
        proj = f"{name}.patch_embed.proj"
        x = (
            functional.conv2d(batch, own[f"{proj}.weight"], own[f"{proj}.bias"], stride=PATCH)
            .flatten(2)
            .transpose(1, 2)
        )
        x = torch.cat([own[f"{name}.cls_token"].expand(len(x), 1, -1), x], 1) + own[f"{name}.pos_embed"]
        for layer in range(LAYERS):
            block = f"{name}.blocks.{layer}"
            parts = self.linear(self.norm(x, f"{block}.norm1", 1e-6), f"{block}.attn.qkv").chunk(3, -1)
            x = x + self.linear(self.attended(*parts), f"{block}.attn.proj")
            inner = self.linear(self.norm(x, f"{block}.norm2", 1e-6), f"{block}.mlp.fc1")
            x = x + self.linear(functional.gelu(inner), f"{block}.mlp.fc2")
        return self.norm(x, f"{name}.norm", 1e-6)

    def crossed(self, x, other, name):
        query, key, value = (
            self.linear(source, f"{name}.self.{kind}")
            for source, kind in ((x, "query"), (other, "key"), (other, "value"))
        )
        dense = self.linear(self.attended(query, key, value), f"{name}.output.dense")
        return self.norm(x + dense, f"{name}.output.LayerNorm", 1e-12)

    def reward(self, batch, tokens):
        seen, name, own = self.seen(batch), "blip.text_encoder", self.tensors
        places = own[f"{name}.embeddings.position_embeddings.weight"][: len(tokens)]
        x = (own[f"{name}.embeddings.word_embeddings.weight"][tokens] + places).expand(len(batch), -1, -1)
        x = self.norm(x, f"{name}.embeddings.LayerNorm", 1e-12)
        for layer in range(LAYERS):
            part = f"{name}.encoder.layer.{layer}"
            x = self.crossed(x, x, f"{part}.attention")
            x = self.crossed(x, seen, f"{part}.crossattention")
            inner = functional.gelu(self.linear(x, f"{part}.intermediate.dense"))
            x = self.norm(x + self.linear(inner, f"{part}.output.dense"), f"{part}.output.LayerNorm", 1e-12)
        x = x[:, 0]
        for place in (0, 2, 4, 6, 7):
            x = self.linear(x, f"mlp.layers.{place}")
        return (x[:, 0] - 0.16717362830052426) / 1.0333394966054072


@pytest.fixture
def recipe(hub, monkeypatch) -> ImageRewards:
    monkeypatch.setattr(image_reward, "VISION", VISION)
    monkeypatch.setattr(image_reward, "TEXT", TEXT)
    weights = save_tensors("image-reward", random_tensors(shapes()))
    tokenizer = put_into_hub("bert-base-uncased", save_tokenizer)
    return ImageRewards(weights, tokenizer, EveryFrame(), CentreCrop(SIDE, SIDE))


def test_rewards_are_those_of_the_published_network(recipe):
    pictures = noise(3, SIDE, SIDE)
    feature = perceive_frames(recipe, pictures, rollout=PROMPT)
    check_documented(recipe, feature)
    tokens = recipe.network().tokenizer("a red ball").input_ids
    mean, std = torch.tensor([0.48145466, 0.4578275, 0.40821073]), torch.tensor([0.26862954, 0.26130258, 0.27577711])
    batch = ((torch.from_numpy(np.stack(pictures)).float() / 255 - mean) / std).permute(0, 3, 1, 2)
    with torch.inference_mode():
        expected = Spelled(random_tensors(shapes())).reward(batch, tokens)
    np.testing.assert_allclose(feature["rewards"], expected, rtol=1e-4, atol=1e-4)
    assert np.ptp(feature["rewards"]) > 1e-3
    assert feature.detail == {"tokens": 5, "tokens_read_at_most": 35, "video_frames": 3}


def test_another_prompt_has_other_rewards_and_only_the_beginning_of_a_long_one_is_read(recipe):
    def asked(*prompt):
        return perceive_frames(recipe, noise(2, 40, 64), rollout=rollout_of(Path("clip.mp4"), prompt=prompt))

    assert not np.allclose(asked("a red ball")["rewards"], asked("a green cube")["rewards"])
    long, longer = asked("ball " * 40), asked("ball " * 40, "cat")
    np.testing.assert_array_equal(long["rewards"], longer["rewards"])
    assert (long.detail["tokens"], longer.detail["tokens"]) == (42, 43)


def test_frames_are_reduced_before_they_are_seen(recipe):
    small = ImageRewards(recipe.weights, recipe.tokenizer, recipe.frames, recipe.fit, GeneratedSize(40))
    plain = [np.full((60, 100, 3), 120, np.uint8)]
    whole, reduced = (perceive_frames(each, plain, rollout=PROMPT)["rewards"] for each in (recipe, small))
    np.testing.assert_allclose(whole, reduced, atol=1e-5)


@pytest.mark.parametrize("prompt", [(), ("",), (" ", "")])
def test_a_case_without_a_prompt_is_declined(prompt, hub):
    declined = ImageRewards().declines(rollout_of(Path("clip.mp4"), prompt=prompt))
    assert declined.reason is Reason.MISSING_INPUT


def test_missing_weights_or_words_decline_with_the_command_that_fetches_them(recipe):
    assert recipe.declines(PROMPT) is None
    recipe.tokenizer.file("vocab.txt").unlink()
    assert "lookaway weights fetch bert-base-uncased" in recipe.declines(PROMPT).message
    recipe.weights.file("ImageReward.pt").unlink()
    assert "lookaway weights fetch image-reward" in recipe.declines(PROMPT).message


def test_a_file_without_one_of_the_parameters_is_refused(recipe):
    tensors = dict(random_tensors(shapes()))
    del tensors["mlp.layers.7.bias"]
    with pytest.raises(Unmeasurable, match=r"missing: mlp\.layers\.7\.bias") as refused:
        ImageRewards(save_tensors("image-reward", tensors), recipe.tokenizer).load()
    assert refused.value.reason is Reason.WRONG_WEIGHTS
