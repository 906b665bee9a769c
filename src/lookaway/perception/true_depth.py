"""How far away everything in the simulated world really is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Extractor, Feature, Features, Rollout, Timeline
from lookaway.io.sampling import Sampler, UniformFrames
from lookaway.io.world_clips import WorldClip
from lookaway.perception.reading import Reading
from lookaway.perception.truth import lacks_truth, open_truth


@dataclass(frozen=True, slots=True)
class TrueDepth:
    """Depth of sampled frames, from the truth of the simulated world; every so many pixels in both directions."""

    name: ClassVar[str] = "true_depth"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 50_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "depth": "float16 [frames, rows, columns]: metres along the axis of the camera, 0 for the sky",
        "frame_indices": "int64 [frames]: the frame of each picture",
        "size": "int64 [2]: width and height of the frames",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    frames: Annotated[Sampler, "which frames have depth"] = UniformFrames(32)
    stride: Annotated[int, "every so many pixels are kept, the first in the middle of the first so many"] = 4

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)

    def load(self) -> TrueDepth:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        clip, wanted = open_truth(rollout, timeline), self.frames.indices(timeline, rollout)
        return Reading(lambda: self._read(clip, wanted))

    def _read(self, clip: WorldClip, wanted: tuple[int, ...]) -> Feature:
        pixels = slice(self.stride // 2, None, self.stride)
        depths = [plane[pixels, pixels] for index, plane in enumerate(clip.depth()) if index in wanted]
        return Feature(
            {
                "depth": np.stack(depths).astype(np.float16),
                "frame_indices": np.array(wanted, np.int64),
                "size": np.array([clip.card.width, clip.card.height]),
            }
        )
