"""Masks of what boxes hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    MASK_ARRAYS,
    Compute,
    Extractor,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Mask,
    MaskTrack,
    Reason,
    Rollout,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.networks.batching import NetworkExtractor
from lookaway.perception.networks.fits import Colours, SeenColours
from lookaway.perception.networks.sam2 import Sam2Frames, size_at
from lookaway.perception.weights import Weights, published


@dataclass(frozen=True, slots=True)
class GrowingTrack:
    """Takes masks one at a time and keeps only their runs: pixels of all frames together would not fit."""

    _parts: list[MaskTrack] = field(default_factory=list)

    def add(self, mask: Mask, frame_index: int, thing: int, score: float) -> None:
        """Keep one more mask, of the size of those before."""
        self._parts.append(MaskTrack.of([mask], [frame_index], [thing], [score]))

    def track(self) -> MaskTrack:
        """All masks in the order in which they came; at least one must have come."""
        parts = self._parts
        return MaskTrack(
            runs=np.concatenate([part.runs for part in parts]),
            offsets=np.cumsum([0, *(len(part.runs) for part in parts)], dtype=np.int64),
            frame_indices=np.concatenate([part.frame_indices for part in parts]),
            things=np.concatenate([part.things for part in parts]),
            scores=np.concatenate([part.scores for part in parts]),
            width=parts[0].width,
            height=parts[0].height,
        )


BOXES_AT_ONCE = 8
"""For each box the network copies its largest maps, 30 MB."""


@dataclass(frozen=True, slots=True)
class Sam2Masks(NetworkExtractor):
    """One mask for each box, drawn by SAM 2 in the box's own frame; the thing of a mask is the box's number in it.

    Scores are the network's own guess of how well the mask fits (its intersection over union with the truth).
    """

    name: ClassVar[str] = "sam2_masks"
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 9.0
    bytes_per_frame: ClassVar[float] = 8000.0
    arrays: ClassVar[Mapping[str, str]] = MASK_ARRAYS

    boxes: Annotated[Extractor, "where to look: gives `boxes` as fractions of their frames, and `frame_indices`"]
    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "sam2.1-base-plus"))
    height: Annotated[int, "height of the masks; the network sees frames at full size"] = 480
    best_of_three: Annotated[bool, "whether the best of three masks is taken, or the network draws only one"] = True
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Boxes."""
        return {"boxes": self.boxes}

    def load(self) -> _LoadedMask:
        """Load the network."""
        return _LoadedMask(self, Sam2Frames.load("Sam2Model", self.weights, self.colours, self.compute))


@dataclass(frozen=True, slots=True)
class _LoadedMask:
    recipe: Sam2Masks
    network: Sam2Frames

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _MaskExtraction:
        boxes = features["boxes"]
        frames = frozenset(boxes["frame_indices"].tolist())
        if not frames:
            raise Unmeasurable(
                Reason.NO_TARGET,
                f"{self.recipe.boxes.name} found no box in this video, and masks are drawn from one or more boxes.",
            )
        return _MaskExtraction(
            self.recipe, self.network, boxes, FrameRequest(frames), size_at(self.recipe.height, timeline)
        )


@dataclass(frozen=True, slots=True)
class _MaskExtraction:
    recipe: Sam2Masks
    network: Sam2Frames
    boxes: Feature
    request: FrameRequest
    size: tuple[int, int]
    masks: GrowingTrack = field(default_factory=GrowingTrack)

    def add_frame(self, frame: Frame) -> None:
        network, multimask = self.network, self.recipe.best_of_three
        boxes = self.boxes["boxes"][self.boxes["frame_indices"] == frame.index]
        with network.torch.inference_mode():
            seen = network.model.get_image_embeddings(network.to_input(frame.pixels))
            for first in range(0, len(boxes), BOXES_AT_ONCE):
                prompts = network.to_prompt(boxes[first : first + BOXES_AT_ONCE])
                drawn = network.model(image_embeddings=seen, input_boxes=prompts, multimask_output=multimask)
                for thing, (logits, scores) in enumerate(zip(drawn.pred_masks[0], drawn.iou_scores[0], strict=True)):
                    best = int(scores.argmax())
                    mask = network.to_mask(logits[best], self.size)
                    self.masks.add(mask, frame.index, first + thing, float(scores[best]))

    def finish(self) -> Feature:
        return self.masks.track().to_feature()
