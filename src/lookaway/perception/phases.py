"""Phases of a video as a feature, and each frame beside the frame of its reference that is as far into its phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    FramelessExtractor,
    Json,
    Partners,
    Reason,
    Rollout,
    Timeline,
    Unmeasurable,
)
from lookaway.core.phases import Phase
from lookaway.io.phases import chosen_phases, declines_phases, phases_of, reference_frames


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

    shares_ends: Annotated[bool, "keyframes are clamped and belong to both phases, as in MemoBench's own code"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Phases must be annotated."""
        return declines_phases(rollout)

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Map the phases to the length of the video."""
        phases = phases_of(rollout, timeline.frame_count, shares_ends=self.shares_ends)
        bounds = np.array([(phase.start, phase.stop) for phase in phases], np.int64)
        detail: dict[str, Json] = {"phases": [phase.name for phase in phases]}
        if phases[-1].reference_stop:
            detail["reference_frames"] = phases[-1].reference_stop
        return Feature({"bounds": bounds}, detail)


@dataclass(frozen=True, slots=True)
class PhasedFrames:
    """Each frame with the frame of the reference video that is as far into the same phase.

    Keyframes of the reference are thereby compared with those of the generated video, whatever the rates of both. With
    `shares_ends`, first and last frames of phases correspond; with `is_linear` too, those of the whole video.
    """

    shares_ends: Annotated[
        bool,
        "keyframes are clamped and belong to both phases, and ends have ends as partners, as in MemoBench's own code",
    ] = False
    is_linear: Annotated[bool, "ignores phases, as MemoBench's own code does for the whole video"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A case with a reference video with phases is needed."""
        reference = rollout.case.reference
        if reference is None:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} names no reference video. Supply one for it."
            )
        if not reference.phase_starts and not self.is_linear:
            return Abstention(
                Reason.MISSING_INPUT, f"the reference video of {rollout.case.id} has no annotated phases."
            )
        return None

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """Partners in the reference video."""
        reference = rollout.case.reference
        if reference is None:
            raise Unmeasurable(Reason.MISSING_INPUT, f"the case {rollout.case.id} names no reference video.")
        indices = {
            frame: phase.partner_between_ends(frame) if self.shares_ends else phase.partner(frame)
            for phase in self._phases(timeline.frame_count, rollout)
            for frame in range(phase.start, min(phase.stop, timeline.frame_count))
        }
        return Partners(reference.video, indices)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """The compared frames of the generated video, for extractors that need no partners."""
        return tuple(self.partners(timeline, rollout).indices)

    def _phases(self, frame_count: int, rollout: Rollout) -> tuple[Phase, ...]:
        if self.is_linear:
            return (Phase("all", 0, frame_count, 0, reference_frames(rollout)),)
        # Phases of the rollout itself say nothing of the reference.
        return phases_of(replace(rollout, phases={}), frame_count, shares_ends=self.shares_ends)


@dataclass(frozen=True, slots=True)
class SpreadPartners:
    """A number of frames spread over one phase, each with the frame of the reference video at the same place of the
    spread; first and last among them, others rounded down.

    Where the phase has fewer frames, a frame is compared once.
    """

    phase: Annotated[str, "name of the phase"] = "reappeared"
    count: Annotated[int, "pairs"] = 3
    shares_ends: Annotated[bool, "keyframes are clamped and belong to both phases, as in MemoBench's own code"] = False

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(
                f"a phase has a first and a last frame: expected a count of 2 or more, found {self.count}."
            )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A case with a reference video with phases is needed."""
        return PhasedFrames().declines(rollout)

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """Partners in the reference video."""
        reference = rollout.case.reference
        if reference is None:
            raise Unmeasurable(Reason.MISSING_INPUT, f"the case {rollout.case.id} names no reference video.")
        # Phases of the rollout itself say nothing of the reference.
        phases = phases_of(replace(rollout, phases={}), timeline.frame_count, shares_ends=self.shares_ends)
        (phase,) = chosen_phases(phases, (self.phase,))
        ours, theirs = (
            [first + place * (last - first) // (self.count - 1) for place in range(self.count)]
            for first, last in (
                (phase.start, phase.stop - 1),
                (phase.reference_start, phase.reference_stop - 1),
            )
        )
        return Partners(reference.video, dict(zip(ours, theirs, strict=True)))
