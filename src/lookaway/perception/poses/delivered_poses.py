"""The camera path that a model was really given, once its controls had been made from the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    Feature,
    Features,
    Floats,
    FramelessExtractor,
    Json,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    angles_degrees,
)
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.checks import (
    READ_POSES,
    ROTATION_TOLERANCE,
    RotationTolerance,
    as_camera_to_world,
    as_numbers,
)
from lookaway.io.pose_files.source import PoseSource, assumed_depths, assumed_intrinsics
from lookaway.perception.poses.commanded_poses import COMMANDED

DELIVERED: Final = "delivered_poses"
"""The artifact that names the file."""
PEAK_LOST, END_LOST = "peak_lost_degrees", "end_lost_degrees"
"""Details: by how much the farthest view and the last one differ from the request."""


@dataclass(frozen=True, slots=True)
class DeliveredPoses(FramelessExtractor):
    """The trajectory in the rollout's `delivered_poses` artifact: `c2w`, and `frame`, the output frame of each pose.

    A model of keys or of short clips cannot be given every path. Against this one, a video shows whether the model did
    what it was told; the details say how far it is from the request, where the rollout has both.
    """

    name: ClassVar[str] = "delivered_poses"
    constants: ClassVar[tuple[str, ...]] = READ_POSES
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    assumed_fov_degrees: Annotated[float, "horizontal field of view, which the file does not hold"] = 70.0
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the artifact is there."""
        path = rollout.artifacts.get(DELIVERED)
        if path is not None and path.is_file():
            return None
        return Abstention(
            Reason.MISSING_INPUT,
            "the record names no camera path that the model was given. `lookaway collect` writes it with the outputs "
            "of a plan.",
        )

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the path."""
        source = PoseSource(
            path=rollout.artifacts[DELIVERED], timeline=timeline, assumed_fov_degrees=self.assumed_fov_degrees
        )
        with ArrayArchive(source.path) as archive:
            poses = as_camera_to_world(
                "c2w", archive.read("c2w"), "camera_to_world", self.rotation_tolerance, archive.error
            )
            frames = as_numbers("frame", archive.read("frame"), archive.error).astype(np.int64)
            if frames.shape != (len(poses),) or frames[0] < 0 or (np.diff(frames) < 0).any():
                raise archive.error(f"frame is not {len(poses)} frames in order, one for each pose of c2w.")
            if frames[0] >= timeline.frame_count:
                raise archive.error(
                    f"its first pose is that of frame {frames[0]}, and the video has {timeline.frame_count} frames."
                )
            lens, _ = assumed_intrinsics(source, len(poses), archive.error)
        shown, rows = np.unique(frames[frames < timeline.frame_count], return_index=True)
        depth, _ = assumed_depths(source, poses)
        trajectory = Trajectory(
            camera_to_world=poses[rows],
            intrinsics=lens[rows],
            frame_indices=shown,
            median_depth=depth[rows],
            width=timeline.width,
            height=timeline.height,
            frame_count=timeline.frame_count,
        )
        return Feature(trajectory.to_feature().arrays, self._lost(rollout, poses))

    def _lost(self, rollout: Rollout, delivered: Floats) -> dict[str, Json]:
        if COMMANDED not in rollout.artifacts:
            return {}
        with ArrayArchive(rollout.artifacts[COMMANDED]) as archive:
            requested = as_camera_to_world(
                "c2w", archive.read("c2w"), "camera_to_world", self.rotation_tolerance, archive.error
            )
        # What is delivered counts from the picture that the model is given, which its output may not show.
        given, asked = delivered[:, :3, :3], requested[0, :3, :3].T @ requested[:, :3, :3]
        peaks = [float(angles_degrees(turns, np.eye(3)).max()) for turns in (given, asked)]
        return {
            PEAK_LOST: abs(peaks[0] - peaks[1]),
            END_LOST: float(angles_degrees(given[-1], asked[-1])),
        }
