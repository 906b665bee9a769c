"""The box around the target of the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Extractor, Feature, Features, Mask, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.io.world_clips import WorldClip
from lookaway.perception.boxes import BOX_ARRAYS
from lookaway.perception.reading import Reading
from lookaway.perception.truth import lacks_truth, open_truth


@dataclass(frozen=True, slots=True)
class TrueBoxes:
    """The box around what is seen of the target, from the truth of the simulated world."""

    name: ClassVar[str] = "true_boxes"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 36.0
    arrays: ClassVar[Mapping[str, str]] = BOX_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    frames: Annotated[Sampler, "which frames are looked at"] = UniformFrames(32)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)

    def load(self) -> TrueBoxes:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        return Reading(lambda: _read(clip, wanted))


def _read(clip: WorldClip, wanted: tuple[int, ...]) -> Feature:
    seen = {
        index: _box(mask)
        for index, mask in enumerate(clip.masks(clip.card.things[0].id))
        if index in wanted and mask.any()
    }
    return Feature(
        {
            "boxes": np.array(list(seen.values()), np.float32).reshape(-1, 4),
            "scores": np.ones(len(seen), np.float32),
            "frame_indices": np.array(list(seen), np.int64),
            "looked_at": np.array(wanted, np.int64),
        }
    )


def _box(mask: Mask) -> tuple[float, ...]:
    height, width = mask.shape
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return columns[0] / width, rows[0] / height, (columns[-1] + 1) / width, (rows[-1] + 1) / height
