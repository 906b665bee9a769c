"""Where the camera of the simulated world really was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import TRAJECTORY_ARRAYS, Abstention, Extractor, Features, Rollout, Timeline
from lookaway.perception.reading import Reading
from lookaway.perception.truth import lacks_truth, open_truth


@dataclass(frozen=True, slots=True)
class TruePoses:
    """The executed path of the camera, from the truth of the simulated world."""

    name: ClassVar[str] = "true_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is any truth."""
        return lacks_truth(rollout)

    def load(self) -> TruePoses:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        clip = open_truth(rollout, timeline)
        return Reading(lambda: clip.trajectory().to_feature())
