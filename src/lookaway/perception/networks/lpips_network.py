"""LPIPS: how different two pictures look, learned from human judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, Literal, TypeAlias

from lookaway.core import Compute
from lookaway.perception.networks.conv_trunks import ALEXNET, Convolution, ConvTrunk, shapes_of, vgg
from lookaway.perception.networks.pretrained import Shapes, Tensors, load_tensors, load_torch
from lookaway.perception.weights import Weights

Trunk: TypeAlias = Literal["alex", "vgg"]

TRUNKS: Mapping[Trunk, tuple[Convolution, ...]] = {
    "alex": ALEXNET,
    "vgg": vgg(lengths=(2, 2, 3, 3, 3), tapped=(1, 1, 2, 2, 2)),
}
"""AlexNet, and VGG-16 with the last ReLU of every block."""
MinLength: TypeAlias = Annotated[float, "added to the length of a vector before it is divided by it"]


def load_lpips(kind: Trunk, trunk: Weights, heads: Weights, min_length: float, compute: Compute) -> LpipsNetwork:
    """LPIPS from the files of its two parts."""
    torch = load_torch(compute)
    layers = TRUNKS[kind]
    return LpipsNetwork(
        ConvTrunk(torch, layers, load_tensors(torch, trunk, shapes_of(layers), compute, is_part=True)),
        load_tensors(torch, heads, head_shapes(layers), compute),
        min_length,
    )


def head_shapes(layers: Sequence[Convolution]) -> Shapes:
    """The parameters of the heads: a weight for each channel of each feature."""
    channels = [layer.channels[1] for layer in layers if layer.is_tapped]
    return {_head(place): (1, count, 1, 1) for place, count in enumerate(channels)}


@dataclass(frozen=True, slots=True)
class LpipsNetwork:
    """Loaded LPIPS: a trunk, and the heads by the names under which they are published."""

    trunk: ConvTrunk
    heads: Tensors
    min_length: float

    def __call__(self, first: Any, second: Any) -> Any:
        """Distances [pairs] of two batches of pictures [pairs, 3, height, width] in the colours of the trunk."""
        with self.torch.inference_mode():
            return self.distances(self.features(first), self.features(second))

    @property
    def torch(self) -> ModuleType:
        """The library that the network runs on."""
        return self.trunk.torch

    def features(self, batch: Any) -> list[Any]:
        """For each layer, vectors of unit length: pictures that meet several others need them only once."""
        return [self._of_unit_length(layer.float()) for layer in self.trunk(batch)]

    def distances(self, first: Sequence[Any], second: Sequence[Any], masks: Any = None) -> Any:
        """Distances [pairs] of the features of two batches; of parts of them, where there are masks [pairs, h, w]."""
        both = zip(first, second, strict=True)
        apart = [self._mean((one - other).square_(), masks) for one, other in both]
        return sum(layer @ self.heads[_head(place)].float().flatten() for place, layer in enumerate(apart))

    def _of_unit_length(self, features: Any) -> Any:
        # Twice as fast as torch's own norm along an axis that is not the last.
        return features / (features.square().sum(1, keepdim=True).sqrt_() + self.min_length)

    def _mean(self, layer: Any, masks: Any) -> Any:
        """[pairs, channels] over the picture, or over the parts of it that masks show."""
        if masks is None:
            return layer.mean((2, 3))
        shares = self.torch.nn.functional.adaptive_avg_pool2d(masks[:, None], layer.shape[2:])
        return (layer * shares).sum((2, 3)) / shares.sum((2, 3))


def _head(place: int) -> str:
    return f"lin{place}.model.1.weight"
