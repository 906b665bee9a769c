"""Masks of things over frames, run-length encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core.features import Feature, Floats, Indices

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskTrack:
    """Masks of one size, each of one thing in one frame.

    Masks are run-length encoded, row by row. The first run is outside the mask and may be empty.
    """

    runs: NDArray[np.int32]
    """[R] run lengths of all masks, concatenated."""
    offsets: Indices
    """[M + 1]: the runs of mask m are those from `offsets[m]` to `offsets[m + 1]`."""
    frame_indices: Indices
    """[M]: the frame of each mask."""
    things: Indices
    """[M]: which thing each mask shows; a thing keeps its number over frames."""
    scores: Floats
    """[M]: confidence of the source; 1 for ground truth."""
    width: int
    height: int

    @classmethod
    def of(
        cls, masks: Sequence[Mask], frame_indices: Sequence[int], things: Sequence[int], scores: Sequence[float]
    ) -> MaskTrack:
        """Encode masks, at least one."""
        if not masks or len({mask.shape for mask in masks}) != 1:
            sizes = sorted({mask.shape for mask in masks})
            raise ValueError(f"a track holds one or more masks of one size, found {sizes}.")
        if not len(masks) == len(frame_indices) == len(things) == len(scores):
            raise ValueError("every mask of a track has one frame, one thing and one score.")
        runs = [_runs(mask) for mask in masks]
        height, width = masks[0].shape
        return cls(
            runs=np.concatenate(runs),
            offsets=np.cumsum([0, *(len(run) for run in runs)], dtype=np.int64),
            frame_indices=np.array(frame_indices, np.int64),
            things=np.array(things, np.int64),
            scores=np.array(scores, np.float32),
            width=width,
            height=height,
        )

    def __len__(self) -> int:
        return len(self.frame_indices)

    def mask(self, position: int) -> Mask:
        """[height, width] of the mask at a position."""
        runs = self._runs_of(position)
        inside = np.arange(len(runs)) % 2 == 1
        return np.repeat(inside, runs).reshape(self.height, self.width)

    @property
    def areas(self) -> Indices:
        """[M] pixels inside each mask."""
        return np.array([int(self._runs_of(position)[1::2].sum()) for position in range(len(self))], np.int64)

    def _runs_of(self, position: int) -> NDArray[np.int32]:
        return self.runs[self.offsets[position] : self.offsets[position + 1]]

    def to_feature(self) -> Feature:
        """As named arrays."""
        arrays: dict[str, NDArray[Any]] = {
            "runs": self.runs,
            "offsets": self.offsets,
            "frame_indices": self.frame_indices,
            "things": self.things,
            "scores": self.scores,
            "size": np.array([self.width, self.height]),
        }
        return Feature(arrays)

    @classmethod
    def from_feature(cls, feature: Feature) -> MaskTrack:
        """Back from named arrays."""
        width, height = (int(n) for n in feature["size"])
        return cls(
            runs=feature["runs"],
            offsets=feature["offsets"],
            frame_indices=feature["frame_indices"],
            things=feature["things"],
            scores=feature["scores"],
            width=width,
            height=height,
        )


MASK_ARRAYS = {
    "runs": "int32 [runs]: lengths of the runs of all masks, row by row, the first run of each outside it",
    "offsets": "int64 [masks + 1]: where the runs of each mask begin",
    "frame_indices": "int64 [masks]: the frame of each mask",
    "things": "int64 [masks]: which thing each mask shows",
    "scores": "float32 [masks]: how sure the source is",
    "size": "int64 [2]: width and height of the masks",
}
"""What the feature of a track holds."""


def _runs(mask: Mask) -> NDArray[np.int32]:
    flat = np.concatenate([[False], mask.ravel(), [not mask.ravel()[-1]] if mask.size else [True]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    return np.diff(edges, prepend=0).astype(np.int32)
