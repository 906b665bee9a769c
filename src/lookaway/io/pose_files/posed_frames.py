"""Which frames have poses and depth in `results.npz`, and samples among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Indices, Rollout, Timeline, Unmeasurable
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.checks import as_frame_indices, check_depth_shape, spread_over_video
from lookaway.io.sampling import Sampler


@dataclass(frozen=True, slots=True)
class PosedFrames:
    """The frames of another sampler, each moved to the nearest one that has a pose and depth, none twice.

    The first stays too, since tracks begin there. Where the rollout has no poses that can be read, all stay.
    """

    frames: Annotated[Sampler, "which frames would be looked at if all had a pose"]

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice."""
        wanted = self.frames.indices(timeline, rollout)
        path = rollout.artifacts.get("poses")
        if path is None:
            return wanted
        try:
            with ArrayArchive(path) as archive:
                posed = posed_frames(archive, timeline.frame_count)
        except Unmeasurable:
            return wanted  # what looks at pictures alone needs no poses, and what needs them finds and tells the same
        nearest = np.abs(np.subtract.outer(wanted, posed)).argmin(axis=1)
        return tuple(sorted({*wanted[:1], *posed[nearest].tolist()}))


def posed_frames(archive: ArrayArchive, frame_count: int) -> Indices:
    """[N] the frame of each depth map, and so of each pose: those of `frame_indices`, else spread over the video."""
    shape = archive.shape("depth")
    count = shape[0] if shape else 0
    check_depth_shape(shape, count, archive.error)
    if "frame_indices" not in archive:
        return spread_over_video(count, frame_count, archive.error)
    return as_frame_indices("frame_indices", archive.read("frame_indices"), count, frame_count, archive.error)
