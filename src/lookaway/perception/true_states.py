"""What really happens in the simulated world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lookaway.core import Abstention, Extractor, Feature, Features, Rollout, Timeline
from lookaway.io.world_clips import WorldClip
from lookaway.perception.reading import Reading
from lookaway.perception.truth import lacks_truth, open_truth


@dataclass(frozen=True, slots=True)
class TrueStates:
    """Places and states of all things in every frame, from the truth of the simulated world; the target is first."""

    name: ClassVar[str] = "true_states"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.0001
    bytes_per_frame: ClassVar[float] = 900.0
    arrays: ClassVar[Mapping[str, str]] = {
        "things": "int64 [things]: ids as in `clip.json`",
        "position": "float64 [frames, things, 3]: metres, z up",
        "quaternion_wxyz": "float64 [frames, things, 4]: orientation",
        "opacity": "float64 [frames, things]: from 0 (absent) to 1",
        "visible_area": "int64 [frames, things]: pixels",
        "progress": "float64 [frames, 2]: of the motion and of the process, from 0 to 1",
    }
    needs: ClassVar[Mapping[str, Extractor]] = {}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)

    def load(self) -> TrueStates:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        clip = open_truth(rollout, timeline)
        return Reading(lambda: _read(clip))


def _read(clip: WorldClip) -> Feature:
    truth = clip.arrays()
    return Feature(
        {
            "things": np.array([thing.id for thing in clip.card.things]),
            "position": truth.position,
            "quaternion_wxyz": truth.quaternion_wxyz,
            "opacity": truth.opacity,
            "visible_area": truth.visible_area,
            "progress": truth.progress,
        }
    )
