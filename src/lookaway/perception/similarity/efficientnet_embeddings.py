"""What EfficientNet-Lite0 sees in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import Abstention, Compute, Floats, Frame, Pixels, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, Embedder, batch_size
from lookaway.perception.networks.efficientnet_network import CHANNELS, STRIDE, efficientnet_lite0, last_map
from lookaway.perception.networks.fits import Colours, Fit, Fitted, SeenColours, Squeezed, to_input
from lookaway.perception.networks.pretrained import load_parameters, load_torch
from lookaway.perception.weights import Weights, published

BYTES_PER_PIXEL = 300
"""That one picture takes on its way through, roughly, in single precision."""
LITE = Colours(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
"""The Lite family was trained on bytes less 127, over 128."""


@dataclass(frozen=True, slots=True)
class _Network:
    torch: ModuleType
    model: Any
    colours: Colours
    compute: Compute

    def __call__(self, pictures: Sequence[Pixels], fitted: Fitted) -> Floats:
        with self.torch.inference_mode():
            # Each by itself, since pictures may have different sizes before they are fitted.
            inputs = [to_input(self.torch, [picture], fitted, self.colours, self.compute) for picture in pictures]
            maps = last_map(self.torch, self.model, self.torch.cat(inputs))
            vectors: Floats = maps.mean((2, 3)).float().cpu().numpy()
            return vectors

    def pictures_at_once(self, fitted: Fitted) -> int:
        return batch_size(fitted.window[0] * fitted.window[1] * BYTES_PER_PIXEL, self.compute)


@dataclass(frozen=True, slots=True)
class EfficientnetEmbeddings(BatchExtractor[_Network]):
    """Mean of the last map of EfficientNet-Lite0, trained on ImageNet: one vector a frame."""

    name: ClassVar[str] = "efficientnet_lite0_embeddings"
    constants: ClassVar[tuple[str, ...]] = (f"{efficientnet_lite0.__module__}:STRIDE",)
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch",)
    seconds_per_frame: ClassVar[float] = 0.03
    bytes_per_frame: ClassVar[float] = 4.0 * CHANNELS
    arrays: ClassVar[Mapping[str, str]] = {
        "vectors": "float32 [frames, channels]: the mean of the last map, none below 0",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "efficientnet-lite0"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = Squeezed(interpolation="bicubic")
    side: Annotated[int, "side of the square that a region is squeezed into, where regions are embedded"] = 224
    colours: SeenColours = LITE
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def lacks(self) -> Abstention | None:
        """Why the network cannot be loaded."""
        return self.weights.declines()

    def network(self) -> _Network:
        """The loaded network."""
        torch = load_torch(self.compute)
        model = load_parameters(torch, efficientnet_lite0(torch), self.weights, self.compute)
        return _Network(torch, model, self.colours, self.compute)

    def batches(self, network: _Network, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        fitted = self.fit.fitted(timeline.width, timeline.height, STRIDE)

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            return {"vectors": network([frame.pixels for frame in frames], fitted)}

        return BatchPlan(network.pictures_at_once(fitted), extract)

    def embedder(self) -> Embedder:
        """The loaded network, for pictures of any size."""
        return _PictureEmbedder(self.network(), self.side)


@dataclass(frozen=True, slots=True)
class _PictureEmbedder:
    network: _Network
    side: int

    def __call__(self, pictures: Sequence[Pixels]) -> Floats:
        fitted = Squeezed(self.side, self.side, "bicubic").fitted(self.side, self.side, STRIDE)
        at_once = self.network.pictures_at_once(fitted)
        parts = [self.network(pictures[start : start + at_once], fitted) for start in range(0, len(pictures), at_once)]
        return np.concatenate(parts) if parts else np.zeros((0, CHANNELS), np.float32)
