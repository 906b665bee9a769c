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
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Indices,
    Json,
    Mask,
    MaskTrack,
    Pixels,
    Reason,
    Rollout,
    Timeline,
    Unmeasurable,
)
from lookaway.perception.networks.batching import Embedder, Embedding
from lookaway.perception.networks.fits import IMAGENET_MEAN, Colour


@dataclass(frozen=True, slots=True)
class RegionCrop:
    """A square around a mask, with a margin; the thing is in its middle, even at the edge of the frame."""

    margin: float
    background: Colour
    keep_background: bool

    def __call__(self, pixels: Pixels, mask: Mask) -> Pixels:
        """The square [side, side, 3]; the mask may have another size than the frame, and shows at least one pixel."""
        inside = scaled_mask(mask, *pixels.shape[:2])
        (top, bottom), (left, right) = (_ends(places) for places in np.nonzero(inside))
        longer = max(bottom - top, right - left)
        side = round(longer * (1 + 2 * self.margin))
        colour = np.round(np.array(self.background) * 255).astype(np.uint8)
        square = np.tile(colour, (side, side, 1))
        rows, columns = _overlap(top, bottom, side, len(pixels)), _overlap(left, right, side, pixels.shape[1])
        from_frame, to_square = (rows[0], columns[0]), (rows[1], columns[1])
        shown = pixels[from_frame]
        square[to_square] = shown if self.keep_background else np.where(inside[from_frame][..., None], shown, colour)
        return square


def scaled_mask(mask: Mask, height: int, width: int) -> Mask:
    """A mask at another size. A pixel is inside where any part of it was, so that no mask is lost.

    >>> scaled_mask(np.array([[True, False, False, False]]), 2, 2)
    array([[ True, False],
           [ True, False]])
    """
    for axis, length in enumerate((height, width)):
        starts = np.arange(length) * mask.shape[axis] // length
        mask = np.logical_or.reduceat(mask, starts, axis=axis)
    return mask


def _ends(places: Indices) -> tuple[int, int]:
    return int(places.min()), int(places.max()) + 1


def _overlap(start: int, stop: int, side: int, length: int) -> tuple[slice, slice]:
    """Where a square around [start, stop) meets a frame of a length: in the frame, and in the square."""
    first = (start + stop - side) // 2
    low, high = max(0, first), min(length, first + side)
    return slice(low, high), slice(low - first, high - first)


@dataclass(frozen=True, slots=True)
class RegionEmbeddings(ExtractorBase):
    """One vector for what each mask shows: a square around the mask, with all else in one colour.

    What a network makes of a thing then does not depend on where it stands. Masks that are too small are left out and
    listed in the detail.
    """

    name: ClassVar[str] = "region_embeddings"
    of_video: ClassVar[bool] = True
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
    min_area: Annotated[int, "pixels of a mask, at its own size, below which it is left out"] = 64
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

    def load(self) -> _LoadedRegion:
        """Load the network."""
        return _LoadedRegion(self, self.embedding.embedder())


@dataclass(frozen=True, slots=True)
class _LoadedRegion:
    recipe: RegionEmbeddings
    embed: Embedder

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _RegionExtraction:
        track, least = MaskTrack.from_feature(features["masks"]), max(1, self.recipe.min_area)
        areas = track.areas
        positions = np.flatnonzero(areas >= least)
        if not len(positions):
            raise Unmeasurable(
                Reason.NO_TARGET,
                f"{self.recipe.masks.name} has {len(track)} masks, of which the largest has {max(areas, default=0)} "
                f"pixels; a region has at least {least}. Lower `min_area`, or look at other frames.",
            )
        small = [
            [int(track.frame_indices[at]), int(track.things[at]), int(areas[at])]
            for at in np.flatnonzero(areas < least)
        ]
        by_frame: dict[int, list[int]] = {}
        for position in positions.tolist():
            by_frame.setdefault(int(track.frame_indices[position]), []).append(position)
        request = FrameRequest(frozenset(by_frame), self.recipe.height)
        return _RegionExtraction(self, track, by_frame, request, {"too_small": small})


@dataclass(frozen=True, slots=True)
class _RegionExtraction:
    loaded: _LoadedRegion
    track: MaskTrack
    by_frame: Mapping[int, list[int]]
    request: FrameRequest
    detail: Mapping[str, Json]
    """`too_small` lists frame, thing and pixels of each mask that was left out."""
    seen: list[int] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        recipe, positions = self.loaded.recipe, self.by_frame[frame.index]
        crop = RegionCrop(recipe.margin, recipe.background, recipe.keep_background)
        self.vectors.append(self.loaded.embed([crop(frame.pixels, self.track.mask(at)) for at in positions]))
        self.seen.extend(positions)

    def finish(self) -> Feature:
        size = self.track.width * self.track.height
        arrays: dict[str, NDArray[Any]] = {
            "vectors": np.concatenate(self.vectors).astype(np.float32, copy=False),
            "frame_indices": self.track.frame_indices[self.seen],
            "things": self.track.things[self.seen],
            "areas": (self.track.areas[self.seen] / size).astype(np.float32),
        }
        return Feature(arrays, self.detail)
