"""How near things are in each frame, up to scale and shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Annotated, Any, ClassVar

from lookaway.core import Compute, Floats, Frame, FrameRequest, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, batch_size
from lookaway.perception.networks.fits import Colours, Fitted, SeenColours, Squeezed, to_input
from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.similarity.compared_frames import SharedSize, shown
from lookaway.perception.weights import Weights, published

COPIES = 8
"""How many copies of the decoder's last feature map are held at once, roughly, in single precision."""


@dataclass(frozen=True, slots=True)
class DepthAnything(BatchExtractor[Any]):
    """Relative inverse depth by Depth Anything V2: large is near; scale and shift are each frame's own."""

    name: ClassVar[str] = "depth_anything_v2"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 2.5
    bytes_per_frame: ClassVar[float] = 51_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "inverse_depth": "float16 [frames, rows, columns]: large is near, 0 is farthest",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "depth-anything-v2-small"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    height: Annotated[
        int | None,
        "rows that are kept of each map; columns follow the aspect ratio; `None` keeps the network's own map",
    ] = 120
    side: Annotated[int, "length that one side of the input has, whichever needs less scaling"] = 518
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    canvas: Annotated[SharedSize | None, "size that frames are brought to before; `None` leaves them as they are"] = (
        None
    )

    def network(self) -> Any:
        """Depth Anything V2, as transformers loads it."""
        return load_pretrained("DepthAnythingForDepthEstimation", self.weights, self.compute)

    def request(self, timeline: Timeline, rollout: Rollout) -> FrameRequest:
        """The sampled frames at full size; `height` is that of the maps."""
        return FrameRequest(frozenset(self.frames.indices(timeline, rollout)))

    def batches(self, network: Any, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        torch, config = load_torch(self.compute), network.config
        size = self.canvas.size_of(timeline) if self.canvas else (timeline.width, timeline.height)
        width, height = input_size(*size, self.side, config.patch_size)
        fitted = Squeezed(width, height, "bicubic").fitted(*size, config.patch_size)
        kept = None if self.height is None else (self.height, max(1, round(self.height * size[0] / size[1])))

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            pictures = shown([frame.pixels for frame in frames], self.canvas)
            return {"inverse_depth": self._maps(torch, network, pictures, fitted, kept)}

        bytes_per_frame = width * height * config.head_hidden_size * 4 * COPIES
        return BatchPlan(batch_size(bytes_per_frame, self.compute), extract)

    def _maps(
        self, torch: ModuleType, network: Any, pictures: Sequence[Any], fitted: Fitted, size: tuple[int, int] | None
    ) -> Floats:
        with torch.inference_mode():
            batch = to_input(torch, pictures, fitted, self.colours, self.compute)
            found = network(pixel_values=batch).predicted_depth.float()[:, None]
            maps = found
            if size is not None:
                maps = torch.nn.functional.interpolate(
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
