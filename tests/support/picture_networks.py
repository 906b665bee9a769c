"""Networks that look at single pictures, with random weights and in the files that real ones are published in.

Those of transformers are tiny. The others have no sizes to choose and are random at full width; their numbers are
drawn by NumPy, whose generators give the same values in every version.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import save_file

from lookaway.io.sampling import EveryFrame
from lookaway.perception.networks import clip_resnet
from lookaway.perception.networks.conv_trunks import shapes_of
from lookaway.perception.networks.lpips_network import TRUNKS, Trunk, head_shapes
from lookaway.perception.networks.musiq_network import musiq_shapes
from lookaway.perception.networks.pretrained import Shapes, Tensors
from lookaway.perception.networks.raft_network import raft_shapes
from lookaway.perception.quality.clip_iqa import ClipIqa
from lookaway.perception.similarity.vgg_style import LAYERS
from lookaway.perception.weights import CATALOGUE, Weights
from tests.support.hub import put_into_hub
from tests.support.networks import seeded

CLIP_CHANNELS = 16
SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
TINY_RESNET = clip_resnet.Sizes(
    width=4, blocks=(2, 1, 1, 1), grid=2, channels=16, text_width=128, text_layers=2, vocabulary=190, context=40
)
TRUNK_WEIGHTS: Mapping[Trunk, str] = {"alex": "alexnet", "vgg": "vgg16"}


def tiny_dinov3(**changes: Any) -> Weights:
    """DINOv3 with two layers and two registers."""
    config = {**SMALL, "image_size": 64, "patch_size": 16, "num_register_tokens": 2, **changes}
    model = seeded(lambda: transformers.DINOv3ViTModel(transformers.DINOv3ViTConfig(**config)))
    return put_into_hub("dinov3-vitb16", model.save_pretrained)


def tiny_clip(name: str = "clip-vit-b-32-laion2b", max_tokens: int = 20) -> Weights:
    """CLIP for pictures of 32 pixels, and a tokenizer that knows single characters."""
    vocabulary = clip_vocabulary()
    config = transformers.CLIPConfig(
        text_config={
            **SMALL,
            "vocab_size": len(vocabulary),
            "max_position_embeddings": max_tokens,
            "bos_token_id": len(vocabulary) - 2,
            "eos_token_id": len(vocabulary) - 1,
        },
        vision_config={**SMALL, "image_size": 32, "patch_size": 8, "projection_dim": CLIP_CHANNELS},
        projection_dim=CLIP_CHANNELS,
    )
    model = seeded(lambda: transformers.CLIPModel(config))

    def save(folder: Path) -> None:
        model.save_pretrained(folder)
        save_clip_tokenizer(folder)

    return put_into_hub(name, save)


def save_clip_tokenizer(folder: Path) -> None:
    """A tokenizer as CLIP's are published, which knows single characters."""
    vocabulary = clip_vocabulary()
    transformers.CLIPTokenizer(vocab=vocabulary, merges=[]).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    specials = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    (folder / "special_tokens_map.json").write_text(json.dumps(specials))


def clip_vocabulary() -> dict[str, int]:
    """Letters, digits and marks, inside a word and at its end, and the two tokens around a text."""
    characters = [chr(code) for code in range(33, 127)]
    words = [*characters, *(f"{character}</w>" for character in characters), "<|startoftext|>", "<|endoftext|>"]
    return {word: place for place, word in enumerate(words)}


def tiny_depth_anything() -> Weights:
    """Depth Anything with four layers."""
    backbone = transformers.Dinov2Config(
        **{**SMALL, "num_hidden_layers": 4, "image_size": 56, "patch_size": 14},
        out_indices=[1, 2, 3, 4],
        reshape_hidden_states=False,
        apply_layernorm=True,
    )
    config = transformers.DepthAnythingConfig(
        backbone_config=backbone,
        reassemble_hidden_size=32,
        neck_hidden_sizes=[8, 8, 16, 16],
        fusion_hidden_size=8,
        head_hidden_size=8,
    )
    model = transformers.DepthAnythingForDepthEstimation(config)
    # As transformers draws them, they are so small that every depth is 0.
    values = random_tensors({name: tuple(tensor.shape) for name, tensor in model.state_dict().items()})
    model.load_state_dict({**values, "head.conv3.bias": torch.ones(1)})
    return put_into_hub("depth-anything-v2-small", model.save_pretrained)


def random_vgg19() -> Weights:
    """VGG-19 as torchvision publishes it, with a classifier that nobody loads."""
    return save_tensors("vgg19", {**vgg19_tensors(), "classifier.0.bias": torch.zeros(4)})


@cache
def vgg19_tensors() -> Tensors:
    """The convolutions of VGG-19 that are used."""
    return random_tensors(shapes_of(LAYERS))


def random_lpips(kind: Trunk) -> tuple[Weights, Weights]:
    """Trunk and heads of LPIPS; heads are never negative, as trained ones."""
    trunk, heads = lpips_tensors(kind)
    return save_tensors(TRUNK_WEIGHTS[kind], {**trunk, "classifier.0.bias": torch.zeros(4)}), save_tensors(
        f"lpips-{kind}", heads
    )


@cache
def lpips_tensors(kind: Trunk) -> tuple[Tensors, Tensors]:
    """Trunk and heads of LPIPS."""
    heads = random_tensors(head_shapes(TRUNKS[kind]))
    return random_tensors(shapes_of(TRUNKS[kind])), {name: tensor.abs() for name, tensor in heads.items()}


def random_musiq() -> Weights:
    """MUSIQ as published, under the names that training on several devices leaves."""
    return save_tensors("musiq-spaq", {f"module.{name}": tensor for name, tensor in musiq_tensors().items()})


@cache
def musiq_tensors() -> Tensors:
    """All parameters of MUSIQ."""
    return random_tensors(musiq_shapes())


def tiny_clip_iqa(patch: pytest.MonkeyPatch) -> ClipIqa:
    """CLIP-IQA+ with a small CLIP, which has no sizes to choose otherwise."""
    patch.setattr(clip_resnet, "RN50", TINY_RESNET)
    tensors = clip_resnet_tensors()

    def save(folder: Path) -> None:
        counters = {"visual.bn1.num_batches_tracked": torch.tensor(1)}
        save_file({**tensors, **counters}, folder / "open_clip_model.safetensors")

    return ClipIqa(
        put_into_hub("clip-rn50", save),
        save_content("clip-iqa-plus-prompts", clip_iqa_prompts()),
        put_into_hub("clip-tokenizer", save_clip_tokenizer),
        EveryFrame(),
    )


@cache
def clip_resnet_tensors() -> Tensors:
    """All parameters of a small CLIP with a residual network."""
    shapes = clip_resnet.clip_shapes(TINY_RESNET)
    tensors = random_tensors({name: shape for name, shape in shapes.items() if shape})
    spreads = {name: tensor.abs() + 0.5 for name, tensor in tensors.items() if name.endswith("running_var")}
    return {**tensors, **spreads, "logit_scale": torch.tensor(3.0)}


def clip_iqa_prompts() -> Any:
    """The learned tokens of two prompts, as published: one tensor without a name."""
    (tokens,) = random_tensors({"ctx": (2, 16, TINY_RESNET.text_width)}).values()
    return tokens


def random_raft() -> Weights:
    """RAFT, large, as torchvision publishes it."""
    return save_tensors("raft-large", raft_tensors())


@cache
def raft_tensors() -> Tensors:
    """All parameters of RAFT, and statistics of its batch norms; steps are small, so that they stay in the picture."""
    counters = {name: torch.tensor(1) for name, shape in raft_shapes().items() if not shape}
    tensors = random_tensors({name: shape for name, shape in raft_shapes().items() if shape})
    spreads = {name: tensor.abs() + 0.5 for name, tensor in tensors.items() if name.endswith("running_var")}
    head = "update_block.flow_head.conv2.weight"
    return {**tensors, **spreads, **counters, head: 0.02 * tensors[head]}


def random_aesthetic_head() -> Weights:
    """The linear head on a tiny CLIP."""
    return save_tensors("laion-aesthetic-linear", random_tensors({"weight": (1, CLIP_CHANNELS), "bias": (1,)}))


def random_mlp_head() -> Weights:
    """The head of five layers on a tiny CLIP."""
    return save_tensors("laion-aesthetic-mlp", mlp_head_tensors())


def mlp_head_tensors() -> Tensors:
    """Weights and biases of the five layers."""
    widths = {"0": (1024, CLIP_CHANNELS), "2": (128, 1024), "4": (64, 128), "6": (16, 64), "7": (1, 16)}
    weights = {f"layers.{place}.weight": shape for place, shape in widths.items()}
    return random_tensors({**weights, **{f"layers.{place}.bias": shape[:1] for place, shape in widths.items()}})


def random_tensors(shapes: Shapes) -> Tensors:
    """Values of about the size that keeps activity alive; those of a name and shape are always the same."""
    tensors = {}
    for name, shape in shapes.items():
        values = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape, dtype=np.float32)
        if len(shape) > 1:
            values *= (2 / np.prod(shape[1:])) ** 0.5
        else:
            values = 0.1 * values + name.endswith("weight")
        tensors[name] = torch.from_numpy(values.astype(np.float32))
    return tensors


def save_tensors(name: str, tensors: Tensors, *, is_old_format: bool = False) -> Weights:
    """One file of torch under the name that is published; until 2020 torch wrote another format."""
    return save_content(name, dict(tensors), is_old_format=is_old_format)


def save_content(name: str, content: Any, *, is_old_format: bool = False) -> Weights:
    """The same for anything that torch writes."""
    (file,) = CATALOGUE[name].files

    def save(folder: Path) -> None:
        torch.save(content, folder / file, _use_new_zipfile_serialization=not is_old_format)

    return put_into_hub(name, save)


def noise(count: int = 5, height: int = 63, width: int = 112, seed: int = 0) -> list[np.ndarray]:
    """Pictures of random pixels."""
    return list(np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8))


def in_colours(pictures: Sequence[np.ndarray]) -> torch.Tensor:
    """Pictures [pictures, height, width, 3] of 0 to 255 as networks see them that were trained on ImageNet."""
    batch = torch.tensor(np.stack(pictures) / 255, dtype=torch.float32).permute(0, 3, 1, 2)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (batch - mean) / std


def spoil(path: Path) -> None:
    """Change the last byte of a file."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
