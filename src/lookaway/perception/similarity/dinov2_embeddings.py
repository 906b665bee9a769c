"""What DINOv2 sees in each frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar

from numpy.typing import NDArray

from lookaway.core import Frame, Rollout, Timeline
from lookaway.perception.networks.batching import BatchPlan
from lookaway.perception.networks.pretrained import load_pretrained, load_torch
from lookaway.perception.networks.vit_tokens import TokenRecipe, VitTokens
from lookaway.perception.similarity.compared_frames import GeneratedSize
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class Dinov2Embeddings(TokenRecipe):
    """Tokens of DINOv2: one for each frame, and one for each patch of it.

    By default the network sees the whole frame. `CentreCrop()` is how the weights were published: of a frame of
    16:9 it sees half.
    """

    name: ClassVar[str] = "dinov2_embeddings"
    software: ClassVar[tuple[str, ...]] = (*TokenRecipe.software, "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.35
    bytes_per_frame: ClassVar[float] = 500_000.0

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov2-base"))

    reduced: Annotated[GeneratedSize | None, "size of frames before; `None` leaves them as they are"] = None

    def batches(self, network: VitTokens, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        if (size := self.reduced) is None:
            return TokenRecipe.batches(self, network, rollout, timeline)
        width, height = size.size_of(timeline)
        plan = TokenRecipe.batches(self, network, rollout, replace(timeline, width=width, height=height))

        def extract(frames: Sequence[Frame]) -> Mapping[str, NDArray[Any]]:
            return plan.extract([replace(frame, pixels=size.reduce(frame.pixels)) for frame in frames])

        return replace(plan, extract=extract)

    def network(self) -> VitTokens:
        """The loaded network."""
        model = load_pretrained("Dinov2Model", self.weights, self.compute)
        return VitTokens(
            torch=load_torch(self.compute),
            model=model,
            colours=self.colours,
            compute=self.compute,
            patch=model.config.patch_size,
            skipped=1,
            channels=model.config.hidden_size,
        )
