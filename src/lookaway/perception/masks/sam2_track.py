"""Where one thing is, through a whole video."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    MASK_ARRAYS,
    Abstention,
    Compute,
    Extractor,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.io.sampling import UniformFrames
from lookaway.perception.masks.sam2_masks import GrowingTrack
from lookaway.perception.networks.batching import NetworkExtractor
from lookaway.perception.networks.fits import Colours, SeenColours
from lookaway.perception.networks.sam2 import Sam2Frames, Sam2Memory, size_at
from lookaway.perception.weights import Weights, published


def box_of_case(rollout: Rollout, timeline: Timeline) -> Floats:
    """Left, top, right and bottom of the case's target in the first frame, as fractions of it."""
    target = rollout.case.target
    if target is None or target.box is None:
        raise Unmeasurable(Reason.NO_TARGET, "the case has no box of a target, and tracking begins with one.")
    x, y, width, height = target.box
    if max(target.box) > 1:
        x, width, y, height = x / timeline.width, width / timeline.width, y / timeline.height, height / timeline.height
    is_in_frame = 0 <= x <= 1 and 0 <= y <= 1
    if not is_in_frame or not (0 < width < math.inf and 0 < height < math.inf):
        raise Unmeasurable(
            Reason.INVALID_INPUT,
            f"the target's box is {target.box} in frames of {timeline.width} x {timeline.height}; its middle must lie "
            "in the frame, and its width and height be positive. Give centre x, centre y, width, height.",
        )
    corners = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2], np.float32)
    return corners.clip(0, 1)


def best_box(boxes: Feature, frame: int, source: str) -> Floats:
    """The box of the highest score in a frame, as fractions of it."""
    positions = np.flatnonzero(boxes["frame_indices"] == frame)
    if not len(positions):
        raise Unmeasurable(
            Reason.NO_TARGET,
            f"{source} found no box in frame {frame}, the first sampled one: nothing to track.",
        )
    best: Floats = boxes["boxes"][positions[boxes["scores"][positions].argmax()]]
    return best


@dataclass(frozen=True, slots=True)
class Sam2Track(NetworkExtractor):
    """Masks of one thing through the sampled frames, by SAM 2 from a box in the first of them.

    Where the network finds the thing unseen, the mask is empty and kept: that, too, is a finding. Scores are the
    probability that the thing is seen, whatever the mask. The case's box is of the video's first frame, which is then
    processed even where the sampler leaves it out.

    Memory does not grow with frames, but for the runs of the masks: the network attends to memories of the first frame
    and of the 6 before, and to pointers from the 15 before. Nothing else is kept: of the published network, in single
    precision, at most 11 MB.
    """

    name: ClassVar[str] = "sam2_track"
    software: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    seconds_per_frame: ClassVar[float] = 12.0
    bytes_per_frame: ClassVar[float] = 4000.0
    arrays: ClassVar[Mapping[str, str]] = MASK_ARRAYS

    weights: Annotated[Weights, "the network"] = field(default_factory=partial(published, "sam2.1-base-plus"))
    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(32)
    prompt: Annotated[Extractor | None, "gives boxes, the best in the first frame is taken; else the case's box"] = None
    point: Annotated[bool, "whether the network is shown the middle of the box instead of the box"] = False
    height: Annotated[int, "height of the masks; the network sees frames at full size"] = 480
    colours: SeenColours = Colours()
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Boxes, unless the case has one."""
        return {} if self.prompt is None else {"boxes": self.prompt}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A target is needed, and the weights."""
        target = rollout.case.target
        if self.prompt is None and (target is None or target.box is None):
            return Abstention(Reason.NO_TARGET, "the case has no box of a target, and tracking begins with one.")
        return self.weights.declines()

    def load(self) -> _LoadedTrack:
        """Load the network."""
        return _LoadedTrack(self, Sam2Frames.load("Sam2VideoModel", self.weights, self.colours, self.compute))


@dataclass(frozen=True, slots=True)
class _LoadedTrack:
    recipe: Sam2Track
    network: Sam2Frames

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _TrackExtraction:
        frames = set(self.recipe.frames.indices(timeline, rollout))
        if self.recipe.prompt is None:
            frames.add(0)
            box = box_of_case(rollout, timeline)
        else:
            box = best_box(features["boxes"], min(frames), self.recipe.prompt.name)
        corners = box.reshape(2, 2)
        points, labels = (corners.mean(0, keepdims=True), (1,)) if self.recipe.point else (corners, (2, 3))
        memory = Sam2Memory.of_prompt(self.network, points, labels)
        return _TrackExtraction(
            self.network, memory, FrameRequest(frozenset(frames)), size_at(self.recipe.height, timeline)
        )


@dataclass(frozen=True, slots=True)
class _TrackExtraction:
    network: Sam2Frames
    memory: Sam2Memory
    request: FrameRequest
    size: tuple[int, int]
    masks: GrowingTrack = field(default_factory=GrowingTrack)

    def add_frame(self, frame: Frame) -> None:
        logits, score = self.memory.follow(self.network.to_input(frame.pixels))
        self.masks.add(self.network.to_mask(logits, self.size), frame.index, 0, score)

    def finish(self) -> Feature:
        return self.masks.track().to_feature()
