"""The camera path that the model was asked for."""

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
    FramelessExtractor,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
)
from lookaway.io.pose_files.checks import DEPTH_STRIDE, ROTATION_TOLERANCE, Convention
from lookaway.io.pose_files.layouts import READERS
from lookaway.io.pose_files.source import PoseSource
from lookaway.perception.truth import lacks_truth, open_truth

REQUEST: Final = "request"
"""The artifact that names the file of the requested path."""


@dataclass(frozen=True, slots=True)
class RequestedPoses(FramelessExtractor):
    """The requested path, from the rollout's `request` artifact, or from the request of a clip of the simulated world.

    It says where the camera should have gone, never where it went.
    """

    name: ClassVar[str] = "requested_poses"
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    convention: Annotated[Convention, "what the stored matrices turn into what"] = "camera_to_world"
    assumed_fov_degrees: Annotated[float, "horizontal field of view where the file holds no intrinsics"] = 60.0

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether a path was requested."""
        path = rollout.artifacts.get(REQUEST)
        if path is None and lacks_truth(rollout) is None:
            return None
        if path is None or not path.is_file():
            return Abstention(
                Reason.MISSING_INPUT,
                "no camera path was requested. Name one in the manifest (`request`), as a file of poses.",
            )
        return None

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the path."""
        if (path := rollout.artifacts.get(REQUEST)) is None:
            return self._of_world(rollout, timeline).to_feature()
        source = PoseSource(
            path=path,
            timeline=timeline,
            lens=rollout.artifacts.get("intrinsics"),
            convention=self.convention,
            rotation_tolerance=ROTATION_TOLERANCE,
            depth_stride=DEPTH_STRIDE,
            assumed_fov_degrees=self.assumed_fov_degrees,
            assumed_depth=None,
            first_frame_number=0,
        )
        read = READERS["da3"](source)
        return Feature(read.trajectory.to_feature().arrays, read.assumptions)

    def _of_world(self, rollout: Rollout, timeline: Timeline) -> Trajectory:
        clip = open_truth(rollout, timeline)
        arrays = clip.arrays()
        count = clip.card.frames
        return Trajectory(
            camera_to_world=arrays.requested_camera_to_world[:count],
            intrinsics=np.repeat(arrays.intrinsics[None], count, axis=0),
            frame_indices=np.arange(count),
            median_depth=np.ones(count),
            width=clip.card.width,
            height=clip.card.height,
            frame_count=count,
        )
