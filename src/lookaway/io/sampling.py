"""Frame samplers: frozen dataclasses, so that they are part of the lock."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Rollout, Timeline
from lookaway.core.frames import segment_bounds


@dataclass(frozen=True, slots=True)
class UniformFrames:
    """A number of frames spread evenly from the first to the last; all frames if there are fewer."""

    of_video: ClassVar[bool] = True

    count: Annotated[int, "frames"]

    def __post_init__(self) -> None:
        _check_positive(count=self.count)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        return spread(0, timeline.frame_count, self.count)


@dataclass(frozen=True, slots=True)
class SpreadFrames:
    """A number of frames from the first to the last, rounded down, as MemoBench's own code has them; none twice."""

    of_video: ClassVar[bool] = True

    count: Annotated[int, "frames"]

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(
                f"a video has a first and a last frame: expected a count of 2 or more, found {self.count}."
            )

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        last = timeline.frame_count - 1
        return tuple(sorted({place * last // (self.count - 1) for place in range(self.count)}))


@dataclass(frozen=True, slots=True)
class EveryFrame:
    """Every `step`-th frame from the first on."""

    of_video: ClassVar[bool] = True

    step: Annotated[int, "from one frame to the next"] = 1

    def __post_init__(self) -> None:
        _check_positive(step=self.step)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        return tuple(range(0, timeline.frame_count, self.step))


@dataclass(frozen=True, slots=True)
class AtFps:
    """The frame shown at each tick of a fixed rate, whatever the video's own rate."""

    of_video: ClassVar[bool] = True

    fps: Annotated[float, "frames a second"]
    clock_error_seconds: Annotated[float, "how far off a time stamp may be; containers round to milliseconds"] = 0.51e-3

    def __post_init__(self) -> None:
        _check_positive(fps=self.fps)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        first_tick = np.ceil((timeline.times_seconds - self.clock_error_seconds) * self.fps)
        last = np.floor((timeline.times_seconds[-1] + self.clock_error_seconds) * self.fps) + 1
        # A frame is on screen from its first tick up to, not including, the first tick of the next frame.
        return tuple(np.flatnonzero(first_tick < np.append(first_tick[1:], last)).tolist())


@dataclass(frozen=True, slots=True)
class SteppedFrames:
    """The first and the last frame, and those in steps of a fixed rate between; thinned where they are too many.

    This is how WRBench samples. Steps are multiples of the video's mean rate divided by `fps`, rounded to frames.
    """

    of_video: ClassVar[bool] = True

    fps: Annotated[float, "frames a second"]
    max_frames: Annotated[int, "at most so many frames are kept, spread evenly over those of the rate"]

    def __post_init__(self) -> None:
        _check_positive(fps=self.fps)
        if self.max_frames < 2:
            raise ValueError(
                f"a video has a first and a last frame: expected max_frames of 2 or more, found {self.max_frames}."
            )

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        last = timeline.frame_count - 1
        # Rounded, so that time stamps in milliseconds do not shift frames.
        step = max(round(timeline.fps or self.fps, 2) / self.fps, 1.0)
        wanted = sorted({last, *(round(number * step) for number in range(int(last / step) + 1))})
        if len(wanted) > self.max_frames:
            kept = np.linspace(0, len(wanted) - 1, self.max_frames).astype(np.int64)
            wanted = [wanted[place] for place in kept]
        return tuple(index for index in wanted if index <= last)


@dataclass(frozen=True, slots=True)
class BySegment:
    """A number of frames from each prompt segment; segments divide the video equally."""

    count: Annotated[int, "frames of each segment"]

    def __post_init__(self) -> None:
        _check_positive(count=self.count)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        bounds = segment_bounds(timeline.frame_count, max(1, len(rollout.case.prompt)))
        return tuple(index for start, stop in bounds for index in spread(start, stop, self.count))


@dataclass(frozen=True, slots=True)
class OverSegments:
    """A number of frames divided among all prompt segments; earlier ones get the remainder."""

    total: Annotated[int, "frames of all segments together"]

    def __post_init__(self) -> None:
        _check_positive(total=self.total)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        bounds = segment_bounds(timeline.frame_count, max(1, len(rollout.case.prompt)))
        each, more = divmod(self.total, len(bounds))
        counts = [each + (index < more) for index in range(len(bounds))]
        return tuple(
            index for (start, stop), count in zip(bounds, counts, strict=True) for index in spread(start, stop, count)
        )


@dataclass(frozen=True, slots=True)
class FirstAndLast:
    """The first frame and the last ones."""

    of_video: ClassVar[bool] = True

    last: Annotated[int, "frames at the end"]

    def __post_init__(self) -> None:
        _check_positive(last=self.last)

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        return (0, *range(max(1, timeline.frame_count - self.last), timeline.frame_count))


def spread(start: int, stop: int, count: int) -> tuple[int, ...]:
    """At most `count` indices spread evenly over [start, stop), ends included.

    >>> spread(0, 11, 3)
    (0, 5, 10)
    >>> spread(0, 2, 3)
    (0, 1)
    """
    if stop <= start or count < 1:
        return ()
    if count >= stop - start:
        return tuple(range(start, stop))
    return tuple(int(index) for index in np.rint(np.linspace(start, stop - 1, count)))


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"the {name} of a sampler must be positive and finite, found {value}.")
