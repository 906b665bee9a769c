"""The convolutions of networks that were trained to name pictures, under the names that torchvision gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lookaway.perception.networks.pretrained import Shapes, Tensors

VGG_CHANNELS = (64, 128, 256, 512, 512)
BYTES = 4


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution with the ReLU after it, and the pooling before it."""

    name: str
    channels: tuple[int, int]
    """In and out."""
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    pool: int = 0
    """Side of the window of which the maximum is taken, every second pixel; 0 where there is none."""
    is_tapped: bool = True
    """Whether its output is one of the features."""


ALEXNET = (
    Convolution("features.0", (3, 64), kernel=11, stride=4, padding=2),
    Convolution("features.3", (64, 192), kernel=5, padding=2, pool=3),
    Convolution("features.6", (192, 384), pool=3),
    Convolution("features.8", (384, 256)),
    Convolution("features.10", (256, 256)),
)


def vgg(lengths: Sequence[int], tapped: Sequence[int]) -> tuple[Convolution, ...]:
    """Blocks of so many convolutions with a pooling between them; in each, one is tapped."""
    layers: list[Convolution] = []
    place, before = 0, 3
    for length, channels, tap in zip(lengths, VGG_CHANNELS, tapped, strict=True):
        for position in range(length):
            pool = 2 if layers and position == 0 else 0
            name = f"features.{place}"
            layers.append(Convolution(name, (before, channels), pool=pool, is_tapped=position == tap))
            place, before = place + 2, channels
        place += 1
    return tuple(layers)


def shapes_of(layers: Sequence[Convolution]) -> Shapes:
    """The parameters of convolutions."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in layers:
        before, after = layer.channels
        shapes[f"{layer.name}.weight"] = (after, before, layer.kernel, layer.kernel)
        shapes[f"{layer.name}.bias"] = (after,)
    return shapes


@dataclass(frozen=True, slots=True)
class ConvTrunk:
    """Loaded convolutions."""

    torch: ModuleType
    layers: tuple[Convolution, ...]
    tensors: Tensors

    def __call__(self, batch: Any) -> Iterator[Any]:
        """The features of a batch [pictures, 3, height, width], shallow ones first."""
        functional = self.torch.nn.functional
        for layer in self.layers:
            if layer.pool:
                batch = functional.max_pool2d(batch, layer.pool, stride=2)
            weight, bias = self.tensors[f"{layer.name}.weight"], self.tensors[f"{layer.name}.bias"]
            batch = functional.conv2d(batch, weight, bias, layer.stride, layer.padding).relu_()
            if layer.is_tapped:
                yield batch

    def bytes_per_frame(self, width: int, height: int) -> float:
        """What all outputs take together: about the memory at the widest place, with the features kept."""
        total, pixels = 0.0, float(width * height)
        for layer in self.layers:
            pixels /= layer.stride**2 * (4 if layer.pool else 1)
            total += pixels * layer.channels[1] * BYTES
        return total
