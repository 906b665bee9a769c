"""How different consecutive frames look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

from lookaway.core import Abstention, Compute, Extractor, Features, Floats, Frame, Rollout, Timeline, UnknownName
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.perception.networks.batching import BatchedExtraction, Steps, batch_size, request_steps
from lookaway.perception.networks.fits import FROM_MINUS_ONE, to_input, unscaled
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork, Trunk, load_lpips
from lookaway.perception.weights import Weights, published

COPIES = 4
"""Of what the trunk gives that are held at once, roughly: of unit length, joined to the last frame, differences."""


@dataclass(frozen=True, slots=True)
class LpipsSteps:
    """LPIPS distances of consecutive frames: 0 where nothing changes, about 0.7 between pictures of different things.

    The weights of trunk and heads belong together: `vgg16` and `lpips-vgg` go with the trunk `vgg`.
    """

    name: ClassVar[str] = "lpips_steps"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch",)
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 12.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [steps]: LPIPS of two consecutive frames",
        "frame_indices": "int64 [steps + 1]: the frames that were compared",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "what people's answers taught"] = field(default_factory=partial(published, "lpips-alex"))
    frames: Annotated[Sampler, "which frames are compared, each with the next"] = UniformFrames(32)
    height: Annotated[int | None, "frame height at which frames are compared; `None` keeps the video's"] = 256
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def __post_init__(self) -> None:
        if self.trunk not in TRUNKS:
            raise UnknownName("trunk of LPIPS", self.trunk, TRUNKS)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video of two frames will do, once the weights are there."""
        return self.weights.declines() or self.heads.declines()

    def load(self) -> _LoadedLpips:
        """Load the network."""
        return _LoadedLpips(self, load_lpips(self.trunk, self.weights, self.heads, self.compute))


@dataclass(frozen=True, slots=True)
class _LoadedLpips:
    recipe: LpipsSteps
    network: LpipsNetwork

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        recipe = self.recipe
        request = request_steps(recipe.frames, timeline, rollout, recipe.height)
        height = recipe.height or timeline.height
        outputs = self.network.trunk.bytes_per_frame(timeline.width * height // timeline.height, height)
        steps = Steps(self.network.torch, self._features, self._distances)
        return BatchedExtraction(request, batch_size(outputs * COPIES, recipe.compute), steps)

    def _features(self, frames: Sequence[Frame]) -> list[Any]:
        pictures = [frame.pixels for frame in frames]
        fitted, compute = unscaled(pictures[0]), self.recipe.compute
        return self.network.features(to_input(self.network.torch, pictures, fitted, FROM_MINUS_ONE, compute))

    def _distances(self, before: Sequence[Any], after: Sequence[Any]) -> Floats:
        distances: Floats = self.network.distances(before, after).cpu().numpy()
        return distances
