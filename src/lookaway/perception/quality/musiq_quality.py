"""How good each frame is as a photograph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Compute, Floats, Frame, Rollout, Sampler, Timeline
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, batch_size
from lookaway.perception.networks.fits import FROM_MINUS_ONE, SeenColours, to_input, unscaled
from lookaway.perception.networks.musiq_network import PATCH, WIDTH, MusiqConfig, MusiqNetwork, load_musiq
from lookaway.perception.networks.vit_tokens import COPIES
from lookaway.perception.similarity.compared_frames import Canvas, shown
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class MusiqQuality(BatchExtractor[MusiqNetwork]):
    """Image quality by MUSIQ, 0 to 100: noise, blur and blocks lower it, whatever the picture shows.

    The size of a frame matters to it: by default frames are judged at the size they have.
    """

    name: ClassVar[str] = "musiq_quality"
    constants: ClassVar[tuple[str, ...]] = (f"{load_musiq.__module__}:PATCH",)
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 1.0
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "quality": "float32 [frames]: on the scale of the weights, 0 to 100",
        "frame_indices": "int64 [frames]: the frame of each row",
    }

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "musiq-spaq"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(24)
    height: Annotated[int | None, "frame height at which quality is judged; `None` keeps the video's"] = None
    colours: SeenColours = FROM_MINUS_ONE
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    config: Annotated[MusiqConfig, "what the network is besides its parameters"] = MusiqConfig()
    canvas: Annotated[Canvas | None, "size that frames are brought to after that; `None` leaves them as they are"] = (
        None
    )

    def network(self) -> MusiqNetwork:
        """The loaded network."""
        return load_musiq(self.weights, self.config, self.compute)

    def batches(self, network: MusiqNetwork, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        size = self.canvas or timeline
        height = size.height if self.canvas is not None else self.height or timeline.height
        patches = size.width / size.height * (height / PATCH) ** 2
        at_once = batch_size(patches * WIDTH * 4 * COPIES, self.compute)
        if self.canvas is not None:
            at_once = min(at_once, self.canvas.frames_at_once(timeline))

        def extract(frames: Sequence[Frame]) -> dict[str, Floats]:
            pictures = shown([frame.pixels for frame in frames], self.canvas)
            batch = to_input(network.torch, pictures, unscaled(pictures[0]), self.colours, self.compute)
            return {"quality": network(batch).cpu().numpy()}

        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})
