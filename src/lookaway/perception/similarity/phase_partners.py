"""Each frame of a generated video with a frame of a reference video of another length, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from lookaway.core import Abstention, Partners, Reason, Rollout, Timeline, Unmeasurable
from lookaway.core.phases import Phase
from lookaway.io.phases import phases_of, reference_frames


@dataclass(frozen=True, slots=True)
class PhasedFrames:
    """Each frame with the frame of the reference video that is as far into the same phase.

    Keyframes of the reference are thereby compared with those of the generated video, whatever the rates of both. As
    published, first and last frames of phases correspond, and the whole video is compared in another way than its
    phases: along a line from the first frame to the last.
    """

    as_published: Annotated[bool, "clamps, rounds and shares the ends of phases, as MemoBench's own code does"] = False
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
            frame: phase.published_partner(frame) if self.as_published else phase.partner(frame)
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
        return phases_of(replace(rollout, phases={}), frame_count, as_published=self.as_published)
