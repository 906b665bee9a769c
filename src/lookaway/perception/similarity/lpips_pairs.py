"""How different each frame looks from the frame it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Abstention, Compute, Extractor, Features, Frame, Rollout, Timeline, UnknownName
from lookaway.perception.networks.batching import BatchedExtraction, batch_size
from lookaway.perception.networks.fits import FROM_MINUS_ONE, to_input, unscaled
from lookaway.perception.networks.lpips_network import TRUNKS, LpipsNetwork, Trunk, load_lpips
from lookaway.perception.similarity.compared_frames import (
    Canvas,
    ComparedFrames,
    Picture,
    ReferenceFrames,
    both_pictures,
    pairs_at_once,
    partner_of,
    request_pairs,
)
from lookaway.perception.similarity.lpips_steps import COPIES
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class LpipsPairs:
    """LPIPS distance of every compared frame to its partner: 0 where they are equal, about 0.7 if all is different.

    The weights of trunk and heads belong together: `vgg16` and `lpips-vgg` go with the trunk `vgg`.
    """

    name: ClassVar[str] = "lpips_pairs"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.3
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [pairs]: LPIPS of a frame and its partner",
        "frame_indices": "int64 [pairs]: the frame of the answer",
        "partner_indices": "int64 [pairs]: the frame that it is compared with",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    compared: Annotated[ComparedFrames, "which frames are compared"] = ReferenceFrames()
    canvas: Annotated[Canvas | None, "size at which they are; `None` keeps that of the videos, which must agree"] = None
    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "what people's answers taught"] = field(default_factory=partial(published, "lpips-alex"))
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def __post_init__(self) -> None:
        if self.trunk not in TRUNKS:
            raise UnknownName("trunk of LPIPS", self.trunk, TRUNKS)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be something to compare with, and the weights."""
        return self.compared.declines(rollout) or self.weights.declines() or self.heads.declines()

    def load(self) -> _LoadedPair:
        """Load the network."""
        return _LoadedPair(self, load_lpips(self.trunk, self.weights, self.heads, self.compute))


@dataclass(frozen=True, slots=True)
class _LoadedPair:
    recipe: LpipsPairs
    network: LpipsNetwork

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> BatchedExtraction:
        recipe, size = self.recipe, self.recipe.canvas or timeline
        outputs = self.network.trunk.bytes_per_frame(size.width, size.height)
        at_once = min(batch_size(2 * outputs * COPIES, recipe.compute), pairs_at_once(timeline))
        request = request_pairs(recipe.compared, timeline, rollout)
        return BatchedExtraction(request, at_once, self._look, {"video_frames": timeline.frame_count})

    def _look(self, frames: Sequence[Frame]) -> dict[str, NDArray[Any]]:
        firsts, seconds = zip(*(both_pictures(frame, self.recipe.canvas) for frame in frames), strict=True)
        distances = self.network(self._input(firsts), self._input(seconds))
        partners = [partner_of(frame).index for frame in frames]
        return {"distances": distances.cpu().numpy(), "partner_indices": np.array(partners, np.int64)}

    def _input(self, pictures: Sequence[Picture]) -> Any:
        return to_input(self.network.torch, pictures, unscaled(pictures[0]), FROM_MINUS_ONE, self.recipe.compute)
