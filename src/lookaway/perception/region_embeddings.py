"""What masks show, each as one vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    Extractor,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Json,
    MaskTrack,
    Reason,
    Rollout,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.networks.embedding import Embedder, Embedding
from lookaway.perception.networks.fits import IMAGENET_MEAN, Colour
from lookaway.perception.region_crops import RegionCrop


@dataclass(frozen=True, slots=True)
class RegionEmbeddings:
    """One vector for what each mask shows: a square around the mask, with all else in one colour.

    What a network makes of a thing then does not depend on where it stands. Masks that are too small are left out and
    listed in the detail.
    """

    name: ClassVar[str] = "region_embeddings"
    version: ClassVar[int] = 1
    seconds_per_frame: ClassVar[float] = 0.2
    bytes_per_frame: ClassVar[float] = 3100.0
    arrays: ClassVar[Mapping[str, str]] = {
        "vectors": "float32 [regions, channels]: what each mask shows",
        "frame_indices": "int64 [regions]: the frame of each vector",
        "things": "int64 [regions]: which thing it shows, numbered as the masks are",
        "areas": "float32 [regions]: of each mask, as a fraction of the frame",
    }

    masks: Annotated[Extractor, "where things are: gives a track of masks"]
    embedding: Annotated[Embedding, "what turns a picture into a vector"]
    margin: Annotated[float, "added around a mask on each side, as a part of its longer side"] = 0.1
    background: Annotated[Colour, "put outside the mask, and outside the frame; red, green, blue, 0 to 1"] = (
        IMAGENET_MEAN
    )
    keep_background: Annotated[bool, "whether what lies around the mask is left as it is"] = False
    least_area: Annotated[int, "pixels of a mask, at its own size, below which it is left out"] = 64
    height: Annotated[int, "frame height at which regions are cut out"] = 480

    @property
    def software(self) -> tuple[str, ...]:
        """That of the embedding: its network is used, not its feature."""
        return ("numpy", *self.embedding.software)

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Masks."""
        return {"masks": self.masks}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.embedding.lacks()

    def load(self) -> _RegionPerceiver:
        """Load the network."""
        return _RegionPerceiver(self, self.embedding.embedder())


@dataclass(frozen=True, slots=True)
class _RegionPerceiver:
    recipe: RegionEmbeddings
    embed: Embedder

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> _RegionWatch:
        track, least = MaskTrack.from_feature(features["masks"]), max(1, self.recipe.least_area)
        areas = track.areas
        positions = np.flatnonzero(areas >= least)
        if not len(positions):
            raise Unmeasurable(
                Reason.NO_TARGET,
                f"{self.recipe.masks.name} has {len(track)} masks, of which the largest has {max(areas, default=0)} "
                f"pixels; a region has at least {least}. Lower `least_area`, or look at other frames.",
            )
        small = [
            [int(track.frame_indices[at]), int(track.things[at]), int(areas[at])]
            for at in np.flatnonzero(areas < least)
        ]
        by_frame: dict[int, list[int]] = {}
        for position in positions.tolist():
            by_frame.setdefault(int(track.frame_indices[position]), []).append(position)
        request = FrameRequest(frozenset(by_frame), self.recipe.height)
        return _RegionWatch(self, track, by_frame, request, {"too_small": small})


@dataclass(frozen=True, slots=True)
class _RegionWatch:
    perceiver: _RegionPerceiver
    track: MaskTrack
    by_frame: Mapping[int, list[int]]
    request: FrameRequest
    detail: Mapping[str, Json]
    """`too_small` lists frame, thing and pixels of each mask that was left out."""
    seen: list[int] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)

    def see(self, frame: Frame) -> None:
        recipe, positions = self.perceiver.recipe, self.by_frame[frame.index]
        crop = RegionCrop(recipe.margin, recipe.background, recipe.keep_background)
        self.vectors.append(self.perceiver.embed([crop(frame.pixels, self.track.mask(at)) for at in positions]))
        self.seen.extend(positions)

    def perceive(self) -> Feature:
        size = self.track.width * self.track.height
        arrays: dict[str, NDArray[Any]] = {
            "vectors": np.concatenate(self.vectors).astype(np.float32, copy=False),
            "frame_indices": self.track.frame_indices[self.seen],
            "things": self.track.things[self.seen],
            "areas": (self.track.areas[self.seen] / size).astype(np.float32),
        }
        return Feature(arrays, self.detail)
