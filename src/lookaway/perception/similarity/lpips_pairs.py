"""How different each frame looks from the frame it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from numpy.typing import NDArray

from lookaway.core import Abstention, ComparedFrames, Compute, Frame, Rollout, Timeline, UnknownName
from lookaway.perception.networks.batching import BatchPlan, batch_size
from lookaway.perception.networks.fits import Colours, SeenColours, to_input, unscaled
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork, MinLength, Trunk, load_lpips
from lookaway.perception.similarity.compared_frames import (
    PairExtractor,
    Picture,
    ReferenceFrames,
    SharedSize,
    both_pictures,
    pairs_at_once,
    partner_indices,
)
from lookaway.perception.similarity.lpips_steps import COPIES
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class LpipsPairs(PairExtractor[LpipsNetwork]):
    """LPIPS distance of every compared frame to its partner: 0 where they are equal, about 0.7 if all is different.

    The weights of trunk and heads belong together: `vgg16` and `lpips-vgg` go with the trunk `vgg`.
    """

    name: ClassVar[str] = "lpips_pairs"
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.3
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [pairs]: LPIPS of a frame and its partner",
        "frame_indices": "int64 [pairs]: the frame of the generated video",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }

    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    canvas: Annotated[
        SharedSize | None, "size at which they are; `None` keeps that of the videos, which must agree"
    ] = None
    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "trained on human judgements"] = field(default_factory=partial(published, "lpips-alex"))
    colours: SeenColours = Colours()
    min_length: MinLength = 1e-10
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def __post_init__(self) -> None:
        if self.trunk not in TRUNKS:
            raise UnknownName("trunk of LPIPS", self.trunk, TRUNKS)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be something to compare with, and the weights."""
        return self.compared.declines(rollout) or self.weights.declines() or self.heads.declines()

    def network(self) -> LpipsNetwork:
        """The loaded network."""
        return load_lpips(self.trunk, self.weights, self.heads, self.min_length, self.compute)

    def batches(self, network: LpipsNetwork, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the pairs of a rollout go through the network."""
        width, height = self.canvas.size_of(timeline) if self.canvas else (timeline.width, timeline.height)
        outputs = network.trunk.bytes_per_frame(width, height)
        at_once = min(batch_size(2 * outputs * COPIES, self.compute), pairs_at_once(timeline))

        def to_network(pictures: Sequence[Picture]) -> Any:
            return to_input(network.torch, pictures, unscaled(pictures[0]), self.colours, self.compute)

        def extract(frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
            firsts, seconds = zip(*(both_pictures(frame, self.canvas) for frame in frames), strict=True)
            distances = network(to_network(firsts), to_network(seconds))
            return {"distances": distances.cpu().numpy(), "partner_indices": partner_indices(frames)}

        return BatchPlan(at_once, extract, {"video_frames": timeline.frame_count})
