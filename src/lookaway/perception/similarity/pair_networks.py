"""How different the two frames of chosen pairs look to a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from lookaway.core import (
    Abstention,
    Compute,
    Extractor,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Pairs,
    RevisitSelector,
    Rollout,
    Timeline,
)
from lookaway.perception.networks.batching import BatchedExtraction
from lookaway.perception.networks.fits import Colours, Fit, SeenColours, WholeFrame
from lookaway.perception.networks.lpips_network import LpipsNetwork, MinLength, Trunk
from lookaway.perception.networks.vit_tokens import VitTokens
from lookaway.perception.similarity.compared_frames import Canvas
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from lookaway.perception.similarity.pair_fidelity import PairExtraction, RevisitExtractor
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class PairLpips(RevisitExtractor):
    """LPIPS distance of the two frames of each chosen pair: 0 where they are equal, about 0.7 if all is different."""

    name: ClassVar[str] = "pair_lpips"
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless")
    seconds_per_frame: ClassVar[float] = 0.3
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float32 [pairs]: LPIPS of the two frames",
        "frames": "int64 [pairs, 2]: frames of each pair, earlier one first",
    }

    pairs: Annotated[RevisitSelector, "which frames are compared"]
    poses: Annotated[Extractor | None, "where the camera was, where pairs are chosen by that"] = None
    flow: Annotated[Extractor | None, "how the picture moves, where pairs are chosen by that"] = None
    canvas: Annotated[Canvas | None, "size at which frames are compared; `None` keeps that of the video"] = None
    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "trained on human judgements"] = field(default_factory=partial(published, "lpips-alex"))
    colours: SeenColours = Colours()
    min_length: MinLength = 1e-10
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be pairs, and the weights."""
        return self.pairs.declines(rollout) or self.weights.declines() or self.heads.declines()

    def load(self) -> _LoadedLpips:
        """Load the network."""
        lpips = LpipsPairs(
            canvas=self.canvas,
            trunk=self.trunk,
            weights=self.weights,
            heads=self.heads,
            colours=self.colours,
            min_length=self.min_length,
            compute=self.compute,
        )
        return _LoadedLpips(self, lpips, lpips.network())


@dataclass(frozen=True, slots=True)
class _LoadedLpips:
    recipe: PairLpips
    lpips: LpipsPairs
    network: LpipsNetwork

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> PairExtraction:
        pairs = self.recipe.pairs.choose(rollout, timeline, features)
        plan = self.lpips.batches(self.network, rollout, timeline)
        batches = BatchedExtraction(FrameRequest(frozenset()), plan.frames_at_once, plan.extract, plan.detail)
        return PairExtraction(pairs, batches)


def patch_means(patches: Floats, weights: Floats | None = None) -> Floats:
    """[frames, channels] of unit length: the mean of the unit-length patch tokens [frames, patches, channels].

    Patches may have weights [patches].
    """
    tokens = np.asarray(patches, np.float64)
    means = np.average(tokens / np.linalg.norm(tokens, axis=-1, keepdims=True), axis=1, weights=weights)
    return np.asarray(means / np.linalg.norm(means, axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class PairTokens(RevisitExtractor):
    """1 - cosine of the mean DINOv2 patch tokens of the two frames of each chosen pair.

    Patch tokens have unit length before the mean, and so has the mean. It says what is in a frame, hardly where.
    """

    name: ClassVar[str] = "pair_tokens"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 0.35
    bytes_per_frame: ClassVar[float] = 20.0
    arrays: ClassVar[Mapping[str, str]] = {
        "distances": "float64 [pairs]: 1 - cosine, from 0 to 2",
        "frames": "int64 [pairs, 2]: frames of each pair, earlier one first",
    }

    pairs: Annotated[RevisitSelector, "which frames are compared"]
    poses: Annotated[Extractor | None, "where the camera was, where pairs are chosen by that"] = None
    flow: Annotated[Extractor | None, "how the picture moves, where pairs are chosen by that"] = None
    fit: Annotated[Fit, "how a frame is brought to the network's input"] = WholeFrame()
    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "dinov2-base"))
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """There must be pairs, and the weights."""
        return self.pairs.declines(rollout) or self.weights.declines()

    def load(self) -> _LoadedTokens:
        """Load the network."""
        tokens = Dinov2Embeddings(fit=self.fit, weights=self.weights, colours=self.colours, compute=self.compute)
        return _LoadedTokens(self, tokens, tokens.network())


@dataclass(frozen=True, slots=True)
class _LoadedTokens:
    recipe: PairTokens
    tokens: Dinov2Embeddings
    network: VitTokens

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _TokenExtraction:
        pairs = self.recipe.pairs.choose(rollout, timeline, features)
        plan = self.tokens.batches(self.network, rollout, timeline)

        def extract(frames: Any) -> dict[str, Floats]:
            return {"means": patch_means(plan.extract(frames)["patches"])}

        request = FrameRequest(frozenset(pairs.frames.ravel().tolist()))
        return _TokenExtraction(pairs, BatchedExtraction(request, plan.frames_at_once, extract))


@dataclass(frozen=True, slots=True)
class _TokenExtraction:
    pairs: Pairs
    batches: BatchedExtraction

    @property
    def request(self) -> FrameRequest:
        return self.batches.request

    def add_frame(self, frame: Frame) -> None:
        self.batches.add_frame(frame)

    def finish(self) -> Feature:
        found = self.batches.finish()
        means, frames = found["means"], self.pairs.frames
        first, second = (np.searchsorted(found["frame_indices"], frames[:, column]) for column in (0, 1))
        cosines = np.einsum("ij,ij->i", means[first], means[second])
        return Feature({"distances": 1 - cosines, "frames": frames}, {"rule": self.pairs.rule})
