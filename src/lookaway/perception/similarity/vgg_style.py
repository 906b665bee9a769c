"""How the style of a picture changes from frame to frame, by the Gram matrices of VGG-19."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import Compute, Floats, Frame, FrameRequest, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, StepDistances, batch_size, request_steps
from lookaway.perception.networks.conv_trunks import ConvTrunk, shapes_of, vgg
from lookaway.perception.networks.fits import Colours, SeenColours, to_input, unscaled
from lookaway.perception.networks.pretrained import load_tensors, load_torch
from lookaway.perception.weights import Weights, published

LAYERS = vgg(lengths=(2, 2, 4, 4, 1), tapped=(0, 0, 0, 0, 0))
"""VGG-19 up to relu5_1, with the first ReLU of every block."""


@dataclass(frozen=True, slots=True)
class VggStyle(BatchExtractor[ConvTrunk]):
    """Distances of consecutive frames in style: which textures and colours go together, wherever they are."""

    name: ClassVar[str] = "vgg_style"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch",)
    seconds_per_frame: ClassVar[float] = 0.6
    bytes_per_frame: ClassVar[float] = 28.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [steps, layers]: Frobenius distance of the Gram matrices of two consecutive frames, "
        "each matrix divided by channels times pixels, at relu1_1 to relu5_1",
        "frame_indices": "int64 [steps + 1]: the frames that were compared",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "vgg19"))
    frames: Annotated[Sampler, "which frames are compared, each with the next"] = UniformFrames(32)
    height: Annotated[int | None, "frame height at which style is compared; `None` keeps the video's"] = 224
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def network(self) -> ConvTrunk:
        """The loaded network."""
        torch = load_torch(self.compute)
        tensors = load_tensors(torch, self.weights, shapes_of(LAYERS), self.compute, is_part=True)
        return ConvTrunk(torch, LAYERS, tensors)

    def request(self, timeline: Timeline, rollout: Rollout) -> FrameRequest:
        """The sampled frames, of which there must be two."""
        return request_steps(self.frames, timeline, rollout, self.height)

    def batches(self, network: ConvTrunk, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        height = self.height or timeline.height
        bytes_per_frame = network.bytes_per_frame(timeline.width * height // timeline.height, height)

        def grams(frames: Sequence[Frame]) -> list[Any]:
            pictures = [frame.pixels for frame in frames]
            batch = to_input(network.torch, pictures, unscaled(pictures[0]), self.colours, self.compute)
            return [_gram(features) for features in network(batch)]

        return BatchPlan(batch_size(bytes_per_frame, self.compute), StepDistances(network.torch, grams, _distances))


def _gram(features: Any) -> Any:
    """[pictures, channels, channels]: how channels go together, on average over channels and pixels."""
    flat = features.flatten(2).float()
    return flat @ flat.mT / (flat.shape[1] * flat.shape[2])


def _distances(before: Sequence[Any], after: Sequence[Any]) -> Floats:
    layers = [
        (later - earlier).flatten(1).norm(dim=1).cpu().numpy() for earlier, later in zip(before, after, strict=True)
    ]
    return np.stack(layers, axis=1)
