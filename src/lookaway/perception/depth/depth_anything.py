"""How near things are in each frame, up to scale and shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

from lookaway.core import Abstention, Compute, Extractor, Features, Floats, Frame, FrameRequest, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.batching import BatchedExtraction, batch_size
from lookaway.perception.networks.fits import Colours, Fitted, Squeezed, to_input
from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.weights import Weights, published

COPIES = 8
"""Of the decoder's last feature map that are held at once, roughly, in single precision."""


@dataclass(frozen=True, slots=True)
class DepthAnything:
    """Relative inverse depth by Depth Anything V2: large is near; scale and shift are each frame's own."""

    name: ClassVar[str] = "depth_anything_v2"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 2.5
    bytes_per_frame: ClassVar[float] = 51_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "inverse_depth": "float16 [frames, rows, columns]: large is near, 0 is farthest",
        "frame_indices": "int64 [frames]: the frame of each row",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "depth-anything-v2-small"))
    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(24)
    height: Annotated[int, "rows that are kept of each map; columns follow the aspect ratio"] = 120
    side: Annotated[int, "length that one side of the input has, whichever needs less scaling"] = 518
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> _LoadedDepth:
        """Load the network."""
        model = load_pretrained("DepthAnythingForDepthEstimation", self.weights, self.compute)
        return _LoadedDepth(self, load_torch(self.compute), model)


@dataclass(frozen=True, slots=True)
class _LoadedDepth:
    recipe: DepthAnything
    torch: ModuleType
    model: Any

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        recipe, config = self.recipe, self.model.config
        width, height = input_size(timeline.width, timeline.height, recipe.side, config.patch_size)
        fitted = Squeezed(width, height, "bicubic").fitted(timeline.width, timeline.height, config.patch_size)
        kept = (recipe.height, max(1, round(recipe.height * timeline.width / timeline.height)))

        def look(frames: Sequence[Frame]) -> dict[str, Floats]:
            return {"inverse_depth": self._maps([frame.pixels for frame in frames], fitted, kept)}

        request = FrameRequest(frozenset(recipe.frames.indices(timeline, rollout)))
        bytes_per_frame = width * height * config.head_hidden_size * 4 * COPIES
        return BatchedExtraction(request, batch_size(bytes_per_frame, recipe.compute), look)

    def _maps(self, pictures: Sequence[Any], fitted: Fitted, size: tuple[int, int]) -> Floats:
        with self.torch.inference_mode():
            batch = to_input(self.torch, pictures, fitted, Colours(), self.recipe.compute)
            found = self.model(pixel_values=batch).predicted_depth.float()[:, None]
            maps = self.torch.nn.functional.interpolate(
                found, size=size, mode="bilinear", antialias=True, align_corners=False
            )
            kept: Floats = maps[:, 0].half().cpu().numpy()
            return kept


def input_size(width: int, height: int, side: int, patch: int) -> tuple[int, int]:
    """The size that frames are scaled to: the aspect ratio is kept but for whole patches.

    >>> input_size(1280, 720, 518, 14), input_size(320, 240, 518, 14)
    ((924, 518), (518, 392))
    """
    scale = min(side / height, side / width, key=lambda factor: abs(1 - factor))
    scaled_width, scaled_height = (max(1, round(length * scale / patch)) * patch for length in (width, height))
    return scaled_width, scaled_height
