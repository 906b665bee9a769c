"""How good each frame is as a photograph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Compute, Extractor, Features, Floats, Frame, FrameRequest, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.batching import BatchedExtraction, batch_size
from lookaway.perception.networks.fits import FROM_MINUS_ONE, to_input, unscaled
from lookaway.perception.networks.musiq_network import PATCH, WIDTH, MusiqNetwork, load_musiq
from lookaway.perception.networks.vit_tokens import COPIES
from lookaway.perception.similarity.compared_frames import Canvas, shown
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class MusiqQuality:
    """Image quality by MUSIQ, 0 to 100: noise, blur and blocks lower it, whatever the picture shows.

    The size of a frame matters to it: by default frames are judged at the size they have.
    """

    name: ClassVar[str] = "musiq_quality"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 1.0
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "quality": "float32 [frames]: on the scale of the weights, 0 to 100",
        "frame_indices": "int64 [frames]: the frame of each row",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "musiq-spaq"))
    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(24)
    height: Annotated[int | None, "frame height at which quality is judged; `None` keeps the video's"] = None
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()
    canvas: Annotated[Canvas | None, "size that frames are brought to after that; `None` leaves them as they are"] = (
        None
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines()

    def load(self) -> _LoadedQuality:
        """Load the network."""
        return _LoadedQuality(self, load_musiq(self.weights, self.compute))


@dataclass(frozen=True, slots=True)
class _LoadedQuality:
    recipe: MusiqQuality
    network: MusiqNetwork

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        recipe = self.recipe
        request = FrameRequest(frozenset(recipe.frames.indices(timeline, rollout)), recipe.height)
        size = recipe.canvas or timeline
        height = size.height if recipe.canvas is not None else recipe.height or timeline.height
        patches = size.width / size.height * (height / PATCH) ** 2
        at_once = batch_size(patches * WIDTH * 4 * COPIES, recipe.compute)
        if recipe.canvas is not None:
            at_once = min(at_once, recipe.canvas.frames_at_once(timeline))
        return BatchedExtraction(request, at_once, self._look, {"video_frames": timeline.frame_count})

    def _look(self, frames: Sequence[Frame]) -> dict[str, Floats]:
        pictures = shown([frame.pixels for frame in frames], self.recipe.canvas)
        torch, fitted = self.network.torch, unscaled(pictures[0])
        batch = to_input(torch, pictures, fitted, FROM_MINUS_ONE, self.recipe.compute)
        return {"quality": self.network(batch).cpu().numpy()}
