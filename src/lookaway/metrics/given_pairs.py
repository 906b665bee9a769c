"""Pairs of frames that a dataset names as two views of one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Features, Pairs, Reason, Rollout, Timeline, Unmeasurable

SAME_RATE = 0.1
"""Frames a second by which two rates may differ and count as one, as in SANA-WM-Bench's own code."""
UNKNOWN_COST = 999.0
"""Cost of a pair that states none, as in SANA-WM-Bench's own code."""


def published_frame(frame: int, dataset_fps: float, video_fps: float, frame_count: int) -> int:
    """The frame of a video for a frame of the dataset, as SANA-WM-Bench's own code has it.

    Frames after the end become the last one. At equal rates a frame before the start stays as it is.

    >>> published_frame(5, 16, 24, 61), published_frame(3, 16, 24, 61), published_frame(960, 16, 16, 960)
    (8, 4, 959)
    """
    if abs(dataset_fps - video_fps) < SAME_RATE:
        return min(frame, frame_count - 1)
    return min(max(round(frame / dataset_fps * video_fps), 0), frame_count - 1)


@dataclass(frozen=True, slots=True)
class GivenPairs:
    """The pairs of the case, those of least cost first, at the frames of the video that are shown at the same time.

    With `clamps`, the published frame map is used: it goes by the mean frame rate, and what lies after the end of the
    video becomes its last frame. Without it, such a video is too short. A pair whose frames become one is left out.
    """

    version: ClassVar[int] = 1

    most: Annotated[int, "pairs that are compared, those of least cost"] = 5
    fps: Annotated[float, "frame rate at which the dataset counts frames"] = 16.0
    clamps: Annotated[bool, "takes the last frame for one after the end, as SANA-WM-Bench's own code does"] = False

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The case must name pairs."""
        if rollout.case.pairs:
            return None
        return Abstention(Reason.MISSING_INPUT, f"the case {rollout.case.id} names no pairs of frames.")

    def choose(self, rollout: Rollout, timeline: Timeline, features: Features) -> Pairs:
        """Pairs of frames, or an `Unmeasurable` where there are none."""
        given = rollout.case.pairs or ()
        cheapest = sorted(given, key=lambda pair: UNKNOWN_COST if pair.cost is None else pair.cost)[: self.most]
        mapped = [sorted(self._frame(frame, timeline) for frame in (pair.first, pair.second)) for pair in cheapest]
        frames = [pair for pair in mapped if pair[0] != pair[1]]
        if not frames:
            raise Unmeasurable(Reason.TOO_SHORT, f"none of the {len(given)} given pairs has two frames in this video.")
        return Pairs(np.array(frames, np.int64), f"given: {len(frames)} of {len(given)}")

    def _frame(self, frame: int, timeline: Timeline) -> int:
        if frame < 0:
            raise Unmeasurable(Reason.INVALID_RECORD, f"a given pair names frame {frame}; frames count from 0.")
        if timeline.fps is None:
            raise Unmeasurable(Reason.TOO_SHORT, "the video has one frame, a pair needs two.")
        if self.clamps:
            return published_frame(frame, self.fps, timeline.fps, timeline.frame_count)
        seconds = frame / self.fps
        times = timeline.times_seconds - timeline.times_seconds[0]
        # Paths have one pose more than they have steps, and clips often one frame fewer: the last frame stands for it.
        if seconds > times[-1] + max(1 / timeline.fps, 1 / self.fps) + 1e-6:
            raise Unmeasurable(
                Reason.TOO_SHORT,
                f"a given pair has a frame at {seconds:.2f} s, and the video ends at {times[-1]:.2f} s. "
                "Generate the whole path.",
            )
        return int(np.argmin(np.abs(times - seconds)))
