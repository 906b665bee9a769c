"""How the style of a picture changes from frame to frame, by the Gram matrices of VGG-19."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import Abstention, Compute, Extractor, Features, Floats, Frame, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.batching import BatchedExtraction, Steps, batch_size, request_steps
from lookaway.perception.networks.conv_trunks import ConvTrunk, shapes_of, vgg
from lookaway.perception.networks.fits import Colours, to_input, unscaled
from lookaway.perception.networks.pretrained import load_tensors, load_torch
from lookaway.perception.weights import Weights, published

LAYERS = vgg(lengths=(2, 2, 4, 4, 1), tapped=(0, 0, 0, 0, 0))
"""VGG-19 up to relu5_1, with the first ReLU of every block."""


@dataclass(frozen=True, slots=True)
class VggStyle:
    """Distances of consecutive frames in style: which textures and colours go together, wherever they are."""

    name: ClassVar[str] = "vgg_style"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch",)
    seconds_per_frame: ClassVar[float] = 0.6
    bytes_per_frame: ClassVar[float] = 28.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [steps, layers]: Frobenius distance of the Gram matrices of two consecutive frames, "
        "each matrix divided by channels times pixels, at relu1_1 to relu5_1",
        "frame_indices": "int64 [steps + 1]: the frames that were compared",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "vgg19"))
    frames: Annotated[Sampler, "which frames are compared, each with the next"] = UniformFrames(32)
    height: Annotated[int | None, "frame height at which style is compared; `None` keeps the video's"] = 224
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video of two frames will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> _LoadedStyle:
        """Load the network."""
        torch = load_torch(self.compute)
        tensors = load_tensors(torch, self.weights, shapes_of(LAYERS), self.compute, is_part=True)
        return _LoadedStyle(self, ConvTrunk(torch, LAYERS, tensors))


@dataclass(frozen=True, slots=True)
class _LoadedStyle:
    recipe: VggStyle
    trunk: ConvTrunk

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        recipe = self.recipe
        request = request_steps(recipe.frames, timeline, rollout, recipe.height)
        height = recipe.height or timeline.height
        bytes_per_frame = self.trunk.bytes_per_frame(timeline.width * height // timeline.height, height)
        steps = Steps(self.trunk.torch, self._grams, _distances)
        return BatchedExtraction(request, batch_size(bytes_per_frame, recipe.compute), steps)

    def _grams(self, frames: Sequence[Frame]) -> list[Any]:
        pictures = [frame.pixels for frame in frames]
        batch = to_input(self.trunk.torch, pictures, unscaled(pictures[0]), Colours(), self.recipe.compute)
        return [_gram(features) for features in self.trunk(batch)]


def _gram(features: Any) -> Any:
    """[pictures, channels, channels]: how channels go together, on average over channels and pixels."""
    flat = features.flatten(2).float()
    return flat @ flat.mT / (flat.shape[1] * flat.shape[2])


def _distances(before: Sequence[Any], after: Sequence[Any]) -> Floats:
    layers = [
        (later - earlier).flatten(1).norm(dim=1).cpu().numpy() for earlier, later in zip(before, after, strict=True)
    ]
    return np.stack(layers, axis=1)
