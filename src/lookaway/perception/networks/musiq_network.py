"""MUSIQ: a transformer that judges a picture by its patches at three sizes."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any

from lookaway.core import Compute
from lookaway.perception.networks.pretrained import Shapes, Tensors, load_tensors, load_torch
from lookaway.perception.weights import Weights

PATCH, LONG_SIDES, GRID = 32, (224, 384, None), 10
"""Side of a patch, length of the longer side at each size (`None` is the picture's own), places across a picture."""
WIDTH, LAYERS, HIDDEN = 384, 14, 1152
STEM, FEATURES, CELLS = 64, 256, 8 * 8
PATCHES_AT_ONCE = 256
"""That go through the convolutions together: more would take memory and save no time."""
ENCODER = "transformer_encoder"


@dataclass(frozen=True, slots=True)
class MusiqConfig:
    """What MUSIQ is besides its parameters."""

    heads: Annotated[int, "of attention"] = 6
    groups: Annotated[int, "of channels that are normed together"] = 32
    stem_epsilon: Annotated[float, "added to the variance of a group before it divides, in the first convolution"] = (
        1e-6
    )
    epsilon: Annotated[float, "the same in all others"] = 1e-4


def load_musiq(weights: Weights, config: MusiqConfig, compute: Compute) -> MusiqNetwork:
    """MUSIQ from its published file."""
    torch = load_torch(compute)
    return musiq_of(torch, load_tensors(torch, weights, musiq_shapes(), compute), config)


def musiq_of(torch: ModuleType, tensors: Tensors, config: MusiqConfig) -> MusiqNetwork:
    """MUSIQ of tensors by their published names."""
    return MusiqNetwork(torch, {**tensors, **_standardised(tensors)}, config)


def musiq_shapes() -> Shapes:
    """Every parameter."""
    shapes: dict[str, tuple[int, ...]] = {"conv_root.weight": (STEM, 3, 7, 7)}
    kernels = {"conv1": (STEM, STEM, 1), "conv2": (STEM, STEM, 3), "conv3": (FEATURES, STEM, 1)}
    for name, (after, before, side) in {**kernels, "conv_proj": (FEATURES, STEM, 1)}.items():
        shapes[f"block1.{name}.weight"] = (after, before, side, side)
        shapes |= _affine(f"block1.{name.replace('conv', 'gn')}", after)
    shapes |= _affine("gn_root", STEM) | _affine("embedding", WIDTH, CELLS * FEATURES) | _affine("head", 1, WIDTH)
    shapes[f"{ENCODER}.posembed_input.position_emb"] = (1, GRID * GRID, WIDTH)
    shapes[f"{ENCODER}.scaleembed_input.scale_emb"] = (len(LONG_SIDES), WIDTH)
    shapes[f"{ENCODER}.cls"] = (1, 1, WIDTH)
    shapes |= _affine(f"{ENCODER}.encoder_norm", WIDTH)
    for layer in range(LAYERS):
        block = _block(layer)
        shapes |= _affine(f"{block}.norm1", WIDTH) | _affine(f"{block}.norm2", WIDTH)
        for part in ("query", "key", "value", "out"):
            shapes |= _affine(f"{block}.attention.{part}", WIDTH, WIDTH)
        shapes |= _affine(f"{block}.mlp.fc1", HIDDEN, WIDTH) | _affine(f"{block}.mlp.fc2", WIDTH, HIDDEN)
    return shapes


@dataclass(frozen=True, slots=True)
class MusiqNetwork:
    """Loaded MUSIQ; its convolutions are standardised already."""

    torch: ModuleType
    tensors: Tensors
    config: MusiqConfig

    def __call__(self, batch: Any) -> Any:
        """Quality [pictures] of a batch [pictures, 3, height, width] between -1 and 1."""
        with self.torch.inference_mode():
            tokens = [self._tokens_at(batch, size, long_side) for size, long_side in enumerate(LONG_SIDES)]
            cls = self.tensors[f"{ENCODER}.cls"].expand(len(batch), -1, -1)
            # The original fills up the smaller sizes to a fixed number of patches, which no other token sees.
            stream = self.torch.cat([cls, *tokens], dim=1)
            for layer in range(LAYERS):
                stream = self._attended(stream, _block(layer))
            return self._linear(self._norm(stream[:, 0], f"{ENCODER}.encoder_norm"), "head")[:, 0].float()

    def _tokens_at(self, batch: Any, size: int, long_side: int | None) -> Any:
        """[pictures, patches, width] of a batch at one size."""
        functional = self.torch.nn.functional
        if long_side is not None:
            height, width = batch.shape[2:]
            sides = [round(length * long_side / max(height, width)) for length in (height, width)]
            batch = functional.interpolate(batch, size=[max(1, side) for side in sides], mode="bicubic")
        rows, columns = (-(-length // PATCH) for length in batch.shape[2:])
        down, right = rows * PATCH - batch.shape[2], columns * PATCH - batch.shape[3]
        batch = functional.pad(batch, (right // 2, right - right // 2, down // 2, down - down // 2))
        grid = batch.unflatten(3, (columns, PATCH)).unflatten(2, (rows, PATCH)).permute(0, 2, 4, 1, 3, 5)
        patches = grid.reshape(-1, 3, PATCH, PATCH)
        seen = self.torch.cat([self._embedded(some) for some in patches.split(PATCHES_AT_ONCE)])
        places = self.tensors[f"{ENCODER}.posembed_input.position_emb"][0, self._places(rows, columns)]
        return seen.view(len(batch), rows * columns, WIDTH) + places + self._scale(size)

    def _scale(self, size: int) -> Any:
        return self.tensors[f"{ENCODER}.scaleembed_input.scale_emb"][size]

    def _places(self, rows: int, columns: int) -> Any:
        """Which of the learned places each patch has."""
        line = self.torch.arange(GRID, dtype=self.torch.float32)[None, None]
        down, across = (
            self.torch.nn.functional.interpolate(line, size=count, mode="nearest")[0, 0].long()
            for count in (rows, columns)
        )
        return (down[:, None] * GRID + across).flatten()

    def _embedded(self, patches: Any) -> Any:
        """[patches, width] of patches [patches, 3, side, side]."""
        functional = self.torch.nn.functional
        stem = self._convolved(
            functional.pad(patches, (2, 3, 2, 3)),
            "conv_root",
            "gn_root",
            stride=2,
            padding=0,
            epsilon=self.config.stem_epsilon,
        )
        stem = functional.max_pool2d(functional.pad(stem.relu_(), (0, 1, 0, 1)), 3, stride=2)
        inner = self._inner(stem, "conv1", "gn1").relu_()
        inner = self._inner(inner, "conv2", "gn2", padding=1).relu_()
        inner = self._inner(inner, "conv3", "gn3")
        found = (inner + self._inner(stem, "conv_proj", "gn_proj")).relu_()
        return self._linear(found.permute(0, 2, 3, 1).flatten(1), "embedding")

    def _inner(self, values: Any, name: str, norm: str, padding: int = 0) -> Any:
        names = f"block1.{name}", f"block1.{norm}"
        return self._convolved(values, *names, stride=1, padding=padding, epsilon=self.config.epsilon)

    def _convolved(self, values: Any, name: str, norm: str, *, stride: int, padding: int, epsilon: float) -> Any:
        functional, tensors = self.torch.nn.functional, self.tensors
        found = functional.conv2d(values, tensors[f"{name}.weight"], stride=stride, padding=padding)
        return functional.group_norm(
            found, self.config.groups, tensors[f"{norm}.weight"], tensors[f"{norm}.bias"], epsilon
        )

    def _attended(self, stream: Any, block: str) -> Any:
        functional = self.torch.nn.functional
        values = self._norm(stream, f"{block}.norm1")
        query, key, value = (
            self._linear(values, f"{block}.attention.{part}").unflatten(2, (self.config.heads, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        found = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        stream = stream + self._linear(found, f"{block}.attention.out")
        hidden = self._linear(self._norm(stream, f"{block}.norm2"), f"{block}.mlp.fc1")
        return stream + self._linear(functional.gelu(hidden), f"{block}.mlp.fc2")

    def _linear(self, values: Any, name: str) -> Any:
        return self.torch.nn.functional.linear(values, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"])

    def _norm(self, values: Any, name: str) -> Any:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(values, (WIDTH,), weight, bias, eps=1e-6)


def _standardised(tensors: Tensors) -> dict[str, Any]:
    """Every convolution with mean 0 and spread 1 over the inputs of each output, as the network was trained."""
    found = {}
    for name, weight in tensors.items():
        if weight.ndim == 4:
            centred = weight.float() - weight.float().mean((1, 2, 3), keepdim=True)
            found[name] = (centred / (centred.std((1, 2, 3), keepdim=True) + 1e-5)).to(weight.dtype)
    return found


def _affine(name: str, *shape: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": shape, f"{name}.bias": shape[:1]}


def _block(layer: int) -> str:
    return f"{ENCODER}.transformer.encoderblock_{layer}"
