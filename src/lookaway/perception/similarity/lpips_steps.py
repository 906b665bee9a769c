"""How different consecutive frames look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from lookaway.core import Abstention, Compute, Floats, Frame, FrameRequest, Rollout, Sampler, Timeline, UnknownName
from lookaway.io.sampling import UniformFrames
from lookaway.perception.networks.batching import BatchExtractor, BatchPlan, StepDistances, batch_size, request_steps
from lookaway.perception.networks.fits import Colours, SeenColours, to_input, unscaled
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork, MinLength, Trunk, load_lpips
from lookaway.perception.weights import Weights, published

COPIES = 4
"""How many copies of the trunk's outputs are held, roughly: normalised, joined to the last frame, differences."""


@dataclass(frozen=True, slots=True)
class LpipsSteps(BatchExtractor[LpipsNetwork]):
    """LPIPS distances of consecutive frames: 0 where nothing changes, about 0.7 between pictures of different things.

    The weights of trunk and heads belong together: `vgg16` and `lpips-vgg` go with the trunk `vgg`.
    """

    name: ClassVar[str] = "lpips_steps"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch",)
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [steps]: LPIPS of two consecutive frames",
        "frame_indices": "int64 [steps + 1]: the frames that were compared",
    }

    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "trained on human judgements"] = field(default_factory=partial(published, "lpips-alex"))
    frames: Annotated[Sampler, "which frames are compared, each with the next"] = UniformFrames(32)
    height: Annotated[int | None, "frame height at which frames are compared; `None` keeps the video's"] = 256
    colours: SeenColours = Colours()
    min_length: MinLength = 1e-10
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def __post_init__(self) -> None:
        if self.trunk not in TRUNKS:
            raise UnknownName("trunk of LPIPS", self.trunk, TRUNKS)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video of two frames will do, once the weights are there."""
        return self.weights.declines() or self.heads.declines()

    def network(self) -> LpipsNetwork:
        """The loaded network."""
        return load_lpips(self.trunk, self.weights, self.heads, self.min_length, self.compute)

    def request(self, timeline: Timeline, rollout: Rollout) -> FrameRequest:
        """The sampled frames, of which there must be two."""
        return request_steps(self.frames, timeline, rollout, self.height)

    def batches(self, network: LpipsNetwork, rollout: Rollout, timeline: Timeline) -> BatchPlan:
        """How the frames of a rollout go through the network."""
        height = self.height or timeline.height
        outputs = network.trunk.bytes_per_frame(timeline.width * height // timeline.height, height)

        def describe(frames: Sequence[Frame]) -> list[Any]:
            pictures = [frame.pixels for frame in frames]
            batch = to_input(network.torch, pictures, unscaled(pictures[0]), self.colours, self.compute)
            return network.features(batch)

        def compare(before: Sequence[Any], after: Sequence[Any]) -> Floats:
            distances: Floats = network.distances(before, after).cpu().numpy()
            return distances

        steps = StepDistances(network.torch, describe, compare)
        return BatchPlan(batch_size(outputs * COPIES, self.compute), steps)
