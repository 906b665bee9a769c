"""Mirrored frames of a camera that is known to go back the way it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lookaway.core import Abstention, Partners, Reason, Rollout, Timeline, Trajectory, Unmeasurable, mirrored_frames
from lookaway.perception.poses.commanded_poses import CommandedPoses


@dataclass(frozen=True, slots=True)
class RetracedFrames:
    """Each frame on the way out with the one on the way back at which the requested camera has the same pose.

    In datasets of mirrored paths, frame i and frame N - 1 - i show one view. In others the camera may wait, or go back
    another way: the longest mirrored part of the requested path counts, and a clip without one is declined.
    """

    requested: Annotated[CommandedPoses, "the camera path that was requested"] = CommandedPoses()
    tolerance: Annotated[float, "difference of equal poses, in rotation matrix entries and in extents of the path"] = (
        0.02
    )
    min_share: Annotated[float, "share of the clip that must be mirrored"] = 0.5
    min_way: Annotated[float, "how far the path must lead away, in the unit of the tolerance"] = 0.05
    negligible_extent: Annotated[float, "median depths; a shorter path is that of a camera that only turns"] = 0.001

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The requested path must be known."""
        return self.requested.declines(rollout)

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """Partners in the same video."""
        path = Trajectory.from_feature(self.requested.read(rollout, timeline, {}))
        poses = path.camera_to_world.copy()
        poses[:, :3, 3] = path.relative_centres(self.negligible_extent)
        frames = mirrored_frames(poses, self.tolerance, self.min_way) or ()
        if len(frames) < self.min_share * timeline.frame_count:
            raise Unmeasurable(
                Reason.NOT_APPLICABLE,
                f"the requested camera goes back the way it came in {len(frames)} of {timeline.frame_count} frames, "
                f"expected {self.min_share:.0%} or more.",
            )
        indices = path.frame_indices[list(frames)].tolist()
        half = len(indices) // 2
        return Partners(rollout.video, dict(zip(indices[:half], reversed(indices[half:]), strict=True)))
