"""Phases of a clip: those of its reference video, mapped to a generated video of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lookaway.core.errors import Unmeasurable
from lookaway.core.outcomes import Reason


@dataclass(frozen=True, slots=True)
class Phase:
    """A named run of frames, and the frames of the reference video that they correspond to."""

    name: str
    start: int
    stop: int
    """One past the last frame; a phase whose stop is not after its start is empty."""
    reference_start: int = 0
    reference_stop: int = 0

    def __contains__(self, frame: int) -> bool:
        return self.start <= frame < self.stop

    def partner(self, frame: int) -> int:
        """The frame of the reference that is as far into the phase: of equal parts, the nearest one.

        >>> Phase("visible", 0, 2, 0, 4).partner(1)
        2
        """
        steps, length = 2 * (frame - self.start) * (self.reference_stop - self.reference_start), self.stop - self.start
        return min(self.reference_start + (steps + length) // (2 * length), self.reference_stop - 1)

    def partner_between_ends(self, frame: int) -> int:
        """The same as MemoBench's own code has it: first on first, last on last, halves rounded to even numbers."""
        last, span = self.stop - self.start - 1, self.reference_stop - 1 - self.reference_start
        return self.reference_start if last == 0 else round(self.reference_start + (frame - self.start) * span / last)


def map_phases(starts: Mapping[str, int], reference_frames: int, frames: int) -> tuple[Phase, ...]:
    """Phases of a generated video, which do not overlap and cover it; each begins at the same part of the clip.

    >>> [(phase.start, phase.stop) for phase in map_phases({"V": 0, "D": 40, "R": 80}, 120, 81)]
    [(0, 27), (27, 54), (54, 81)]
    """
    _check(starts, reference_frames)
    theirs = [*starts.values(), reference_frames]
    ours = [(2 * start * frames + reference_frames) // (2 * reference_frames) for start in theirs]
    return tuple(
        Phase(name, *mine, *reference)
        for name, mine, reference in zip(starts, pairwise(ours), pairwise(theirs), strict=True)
    )


def map_phases_sharing_ends(starts: Mapping[str, int], reference_frames: int, frames: int) -> tuple[Phase, ...]:
    """Three phases as MemoBench's own code has them: both ends belong to a phase, so that neighbours share a frame.

    Keyframes are rounded, halves to even numbers, then clamped: two frames at least are left for each of the first two
    phases, whatever the reference has. Where there are fewer than six frames, the last phase may be empty.
    """
    _check(starts, reference_frames)
    if len(starts) != 3:
        raise ValueError(f"three phases can share their ends, found {', '.join(starts)}.")
    _, left, back = starts.values()
    first, second = (round(start / reference_frames * frames) for start in (left, back))
    first = max(2, min(first, frames - 4))
    second = max(first + 2, min(second, frames - 1))
    ours = ((0, first + 1), (first, second + 1), (second, frames))
    theirs = ((0, left + 1), (left, back + 1), (back, reference_frames))
    return tuple(Phase(name, *mine, *reference) for name, mine, reference in zip(starts, ours, theirs, strict=True))


def _check(starts: Mapping[str, int], reference_frames: int) -> None:
    found: Sequence[int] = list(starts.values())
    if not found or found[0] != 0 or list(found) != sorted(found) or found[-1] >= reference_frames:
        shown = ", ".join(f"{name} {start}" for name, start in starts.items()) or "none"
        raise Unmeasurable(
            Reason.INVALID_RECORD,
            f"phases begin at the frames {shown}, expected 0 and then later frames of a reference of "
            f"{reference_frames}. Correct the keyframes.",
        )
