"""Which frames of a rollout's video are in which phase: by its own annotation, or by that of its reference video."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from lookaway.core import Abstention, Reason, Rollout, Timeline, Unmeasurable, VideoError
from lookaway.core.phases import Phase, map_phases, map_phases_sharing_ends
from lookaway.io.video import probe


def declines_phases(rollout: Rollout) -> Abstention | None:
    """Why a rollout has no phases, as far as can be told without opening a video."""
    reference = rollout.case.reference
    if rollout.phases or (reference is not None and reference.phase_starts):
        return None
    return Abstention(
        Reason.MISSING_INPUT, f"neither the rollout nor the reference video of {rollout.case.id} has annotated phases."
    )


def phases_of(rollout: Rollout, frame_count: int, *, shares_ends: bool = False) -> tuple[Phase, ...]:
    """The phases of a video of so many frames; or an `Unmeasurable`.

    The length of a reference video is that of its file, for every metric: MemoBench's programs count it in three ways.
    """
    if rollout.phases:
        return tuple(
            Phase(name, max(0, start), min(stop, frame_count)) for name, (start, stop) in rollout.phases.items()
        )
    declined = declines_phases(rollout)
    reference = rollout.case.reference
    if declined is not None or reference is None:
        raise Unmeasurable(Reason.MISSING_INPUT, declined.message if declined else "there is no reference video.")
    mapping = map_phases_sharing_ends if shares_ends else map_phases
    return mapping(reference.phase_starts, reference_frames(rollout), frame_count)


def reference_frames(rollout: Rollout) -> int:
    """How many frames the reference video has; or an `Unmeasurable`."""
    reference = rollout.case.reference
    if reference is None:
        message = f"the case {rollout.case.id} names no reference video. Supply one for it."
        raise Unmeasurable(Reason.MISSING_INPUT, message)
    try:
        return probe(reference.video).frame_count
    except VideoError as error:
        raise VideoError(error.reason, f"the video to compare with: {error}") from error


def chosen_phases(phases: Sequence[Phase], names: Sequence[str]) -> tuple[Phase, ...]:
    """The phases of some names that have frames; or an `Unmeasurable`."""
    known = {phase.name: phase for phase in phases}
    if missing := [name for name in names if name not in known]:
        raise Unmeasurable(
            Reason.MISSING_INPUT,
            f"phases {', '.join(missing)} are not annotated; the rollout has: {', '.join(known) or 'none'}.",
        )
    found = tuple(known[name] for name in names if known[name].stop > known[name].start)
    if not found:
        raise Unmeasurable(Reason.TOO_SHORT, f"no frame of the video is in the phase {' or '.join(names)}.")
    return found


@dataclass(frozen=True, slots=True)
class EveryInPhases:
    """Every `step`-th frame of each of some phases, from its first on."""

    phases: Annotated[tuple[str, ...], "names of the phases"]
    step: Annotated[int, "from one frame to the next"] = 1
    shares_ends: Annotated[bool, "keyframes are clamped and belong to both phases, as in MemoBench's own code"] = False

    def __post_init__(self) -> None:
        if self.step < 1:
            raise ValueError(f"the step of a sampler is 1 or more, found {self.step}.")

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        phases = phases_of(rollout, timeline.frame_count, shares_ends=self.shares_ends)
        chosen = chosen_phases(phases, self.phases)
        return tuple(sorted({index for phase in chosen for index in range(phase.start, phase.stop, self.step)}))


@dataclass(frozen=True, slots=True)
class SpreadInPhases:
    """A number of frames spread over each of some phases, its first and last among them; rounded down."""

    phases: Annotated[tuple[str, ...], "names of the phases"]
    count: Annotated[int, "frames of each phase"]
    with_first: Annotated[bool, "adds the first frame of the video"] = False
    shares_ends: Annotated[bool, "keyframes are clamped and belong to both phases, as in MemoBench's own code"] = False

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(
                f"a phase has a first and a last frame: expected a count of 2 or more, found {self.count}."
            )

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        phases = phases_of(rollout, timeline.frame_count, shares_ends=self.shares_ends)
        found = {0} if self.with_first else set()
        for phase in chosen_phases(phases, self.phases):
            steps = phase.stop - phase.start - 1
            found |= {phase.start + place * steps // (self.count - 1) for place in range(self.count)}
        return tuple(sorted(found))
