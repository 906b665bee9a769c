"""CLIP with a residual network that sees pictures. Radford et al.: Learning Transferable Visual Models, 2021.

Transformers has CLIP with vision transformers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from lookaway.core import Compute
from lookaway.perception.networks.pretrained import Shapes, Tensors, load_tensors, load_torch
from lookaway.perception.weights import Weights


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the network is."""

    width: int = 64
    """Channels after the stem."""
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    """Blocks of each of the four layers."""
    grid: int = 7
    """Places each way that positions were learned for."""
    channels: int = 1024
    """Length of the vectors of pictures and texts."""
    text_width: int = 512
    text_layers: int = 12
    vocabulary: int = 49408
    context: int = 77
    """The most tokens of a text."""

    @property
    def features(self) -> int:
        """Channels of the last layer."""
        return self.width * EXPANSION << (len(self.blocks) - 1)


EXPANSION: Final = 4
"""Channels after a block for each one inside."""
STRIDE: Final = 32
"""Pixels of a picture for each place of the last layer, across and down."""
RN50: Final = Sizes()
"""The smallest that is published."""


def load_clip_resnet(weights: Weights, head_width: int, compute: Compute) -> ClipResnet:
    """CLIP from a published file; counters of training are left aside."""
    torch = load_torch(compute)
    return ClipResnet(torch, load_tensors(torch, weights, clip_shapes(RN50), compute, is_part=True), RN50, head_width)


def clip_shapes(sizes: Sizes) -> Shapes:
    """Every parameter by its published name, and the statistics of batch norms."""
    width, text = sizes.width, sizes.text_width
    shapes: dict[str, tuple[int, ...]] = {
        "positional_embedding": (sizes.context, text),
        "text_projection": (text, sizes.channels),
        "logit_scale": (),
        "token_embedding.weight": (sizes.vocabulary, text),
        **_affine("ln_final", text),
        **_normed("visual.conv1", "visual.bn1", width // 2, 3, 3),
        **_normed("visual.conv2", "visual.bn2", width // 2, width // 2, 3),
        **_normed("visual.conv3", "visual.bn3", width, width // 2, 3),
        "visual.attnpool.positional_embedding": (sizes.grid**2 + 1, sizes.features),
    }
    for part in ("k_proj", "q_proj", "v_proj"):
        shapes |= _affine(f"visual.attnpool.{part}", sizes.features, sizes.features)
    shapes |= _affine("visual.attnpool.c_proj", sizes.channels, sizes.features)
    before = width
    for layer, count in enumerate(sizes.blocks):
        inner = width * 2**layer
        for place in range(count):
            shapes |= _block_shapes(f"visual.layer{layer + 1}.{place}", before, inner)
            before = inner * EXPANSION
    for layer in range(sizes.text_layers):
        block = f"transformer.resblocks.{layer}"
        shapes |= _affine(f"{block}.ln_1", text) | _affine(f"{block}.ln_2", text)
        shapes |= {f"{block}.attn.in_proj_weight": (3 * text, text), f"{block}.attn.in_proj_bias": (3 * text,)}
        shapes |= _affine(f"{block}.attn.out_proj", text, text)
        shapes |= _affine(f"{block}.mlp.c_fc", 4 * text, text) | _affine(f"{block}.mlp.c_proj", text, 4 * text)
    return shapes


@dataclass(frozen=True, slots=True)
class ClipResnet:
    """Loaded CLIP."""

    torch: ModuleType
    tensors: Tensors
    sizes: Sizes
    head_width: int

    @property
    def scale(self) -> float:
        """What cosines are multiplied by before they are compared."""
        return float(self.tensors["logit_scale"].float().exp())

    def embed_tokens(self, tokens: Sequence[int]) -> Any:
        """[tokens, width] of a text, before positions."""
        return self.tensors["token_embedding.weight"][list(tokens)]

    def text(self, embedded: Any) -> Any:
        """[1, channels] of an embedded text [tokens, width] whose last token ends it."""
        functional = self.torch.nn.functional
        stream = (embedded + self.tensors["positional_embedding"][: len(embedded)])[None]
        for layer in range(self.sizes.text_layers):
            block = f"transformer.resblocks.{layer}"
            inner = self._norm(stream, f"{block}.ln_1")
            weight, bias = self.tensors[f"{block}.attn.in_proj_weight"], self.tensors[f"{block}.attn.in_proj_bias"]
            parts = functional.linear(inner, weight, bias).chunk(3, dim=2)
            stream = stream + self._linear(self._attended(*parts, is_causal=True), f"{block}.attn.out_proj")
            inner = self._linear(self._norm(stream, f"{block}.ln_2"), f"{block}.mlp.c_fc")
            stream = stream + self._linear(inner * self.torch.sigmoid(1.702 * inner), f"{block}.mlp.c_proj")
        return self._norm(stream[:, -1], "ln_final") @ self.tensors["text_projection"]

    def pictures(self, batch: Any) -> Any:
        """[N, channels] of pictures [N, 3, height, width] of any size, without the positions that were learned."""
        functional = self.torch.nn.functional
        maps = self._normed(batch, "visual.conv1", "visual.bn1", stride=2).relu()
        maps = self._normed(maps, "visual.conv2", "visual.bn2").relu()
        maps = functional.avg_pool2d(self._normed(maps, "visual.conv3", "visual.bn3").relu(), 2)
        for layer, count in enumerate(self.sizes.blocks):
            for place in range(count):
                stride = 2 if layer and not place else 1
                maps = self._block(maps, f"visual.layer{layer + 1}.{place}", stride)
        tokens = maps.flatten(2).transpose(1, 2)
        mean = tokens.mean(dim=1, keepdim=True)
        tokens = self.torch.cat([mean, tokens], dim=1)
        query = self._linear(mean, "visual.attnpool.q_proj")
        key, value = (self._linear(tokens, f"visual.attnpool.{part}") for part in ("k_proj", "v_proj"))
        return self._linear(self._attended(query, key, value)[:, 0], "visual.attnpool.c_proj")

    def _block(self, maps: Any, name: str, stride: int) -> Any:
        """Strides are means over areas, so that nothing is skipped."""
        functional = self.torch.nn.functional
        inner = self._normed(maps, f"{name}.conv1", f"{name}.bn1").relu()
        inner = self._normed(inner, f"{name}.conv2", f"{name}.bn2").relu()
        kept = maps
        if stride > 1:
            inner, kept = functional.avg_pool2d(inner, stride), functional.avg_pool2d(kept, stride)
        if f"{name}.downsample.0.weight" in self.tensors:
            kept = self._normed(kept, f"{name}.downsample.0", f"{name}.downsample.1")
        return (kept + self._normed(inner, f"{name}.conv3", f"{name}.bn3")).relu()

    def _normed(self, maps: Any, name: str, norm: str, *, stride: int = 1) -> Any:
        functional, weight = self.torch.nn.functional, self.tensors[f"{name}.weight"]
        found = functional.conv2d(maps, weight, stride=stride, padding=weight.shape[2] // 2)
        mean, spread, scale, bias = (
            self.tensors[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
        )
        return functional.batch_norm(found, mean, spread, scale, bias, eps=1e-5)

    def _attended(self, query: Any, key: Any, value: Any, *, is_causal: bool = False) -> Any:
        parts = (part.unflatten(2, (-1, self.head_width)).transpose(1, 2) for part in (query, key, value))
        attention = self.torch.nn.functional.scaled_dot_product_attention
        return attention(*parts, is_causal=is_causal).transpose(1, 2).flatten(2)

    def _linear(self, values: Any, name: str) -> Any:
        return self.torch.nn.functional.linear(values, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def _norm(self, values: Any, name: str) -> Any:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(values, weight.shape, weight, bias, eps=1e-5)


def _block_shapes(name: str, before: int, inner: int) -> dict[str, tuple[int, ...]]:
    after = inner * EXPANSION
    shapes = _normed(f"{name}.conv1", f"{name}.bn1", inner, before, 1)
    shapes |= _normed(f"{name}.conv2", f"{name}.bn2", inner, inner, 3)
    shapes |= _normed(f"{name}.conv3", f"{name}.bn3", after, inner, 1)
    if before != after:
        shapes |= _normed(f"{name}.downsample.0", f"{name}.downsample.1", after, before, 1)
    return shapes


def _normed(name: str, norm: str, after: int, before: int, side: int) -> dict[str, tuple[int, ...]]:
    statistics = {f"{norm}.{part}": (after,) for part in ("running_mean", "running_var")}
    return {f"{name}.weight": (after, before, side, side), **_affine(norm, after), **statistics}


def _affine(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
