"""Phases of a video as a feature, so that any metric of frames can be reported for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Feature, Features, FramelessExtractor, Json, Rollout, Timeline
from lookaway.io.phases import declines_phases, phases_of


@dataclass(frozen=True, slots=True)
class PhaseBounds(FramelessExtractor):
    """First frame, and one past the last, of each phase of a video: as annotated, or mapped from its reference video.

    `detail.phases` has their names, in the order of rows, and `detail.reference_frames` the length of the reference.
    """

    name: ClassVar[str] = "phases"
    seconds_per_frame: ClassVar[float] = 0.0001
    bytes_per_frame: ClassVar[float] = 1.0
    arrays: ClassVar[Mapping[str, str]] = {
        "bounds": "int64 [phases, bounds]: first frame of each phase, and one past its last",
    }

    as_published: Annotated[bool, "clamps keyframes and shares the ends of phases, as MemoBench's own code does"] = (
        False
    )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Phases must be annotated."""
        return declines_phases(rollout)

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Map the phases to the length of the video."""
        phases = phases_of(rollout, timeline.frame_count, as_published=self.as_published)
        bounds = np.array([(phase.start, phase.stop) for phase in phases], np.int64)
        detail: dict[str, Json] = {"phases": [phase.name for phase in phases]}
        if phases[-1].reference_stop:
            detail["reference_frames"] = phases[-1].reference_stop
        return Feature({"bounds": bounds}, detail)
