"""The camera path that was requested of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    Feature,
    Features,
    FramelessExtractor,
    Indices,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    UnknownName,
)
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.checks import (
    ROTATION_TOLERANCE,
    RotationTolerance,
    as_camera_to_world,
    as_intrinsics,
    as_numbers,
)
from lookaway.io.pose_files.source import PoseSource, assumed_depths, assumed_intrinsics, intrinsics_at_video_size

FrameMap: TypeAlias = Literal["time", "index"]


@dataclass(frozen=True, slots=True)
class CommandedPoses(FramelessExtractor):
    """The trajectory in the rollout's `commanded_poses` artifact: `c2w`, and `intrinsics` and `fps` where they are.

    This is how SANA-WM-Bench stores paths: camera to world, OpenCV axes, metric. Each frame of the video has the pose
    that is nearest in time; by `index`, frame i has pose i, whatever both rates are. Frames after the end of the path
    have none.
    """

    name: ClassVar[str] = "commanded_poses"
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    of_reference: ClassVar[bool] = True

    frame_map: Annotated[
        FrameMap, "which pose belongs to a frame: the nearest in `time`, or that of the same `index`"
    ] = "time"
    fps: Annotated[float, "poses a second, where the file does not say"] = 16.0
    assumed_fov_degrees: Annotated[float | None, "horizontal field of view where the file holds no intrinsics"] = 70.0
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE

    def __post_init__(self) -> None:
        if self.frame_map not in get_args(FrameMap):
            raise UnknownName("map of frames", self.frame_map, get_args(FrameMap))

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the artifact is there."""
        path = rollout.artifacts.get("commanded_poses")
        if path is not None and path.is_file():
            return None
        return Abstention(Reason.MISSING_INPUT, "the record names no camera path that was requested.")

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the path."""
        source = PoseSource(
            path=rollout.artifacts["commanded_poses"], timeline=timeline, assumed_fov_degrees=self.assumed_fov_degrees
        )
        with ArrayArchive(source.path) as archive:
            poses = as_camera_to_world(
                "c2w", archive.read("c2w"), "camera_to_world", self.rotation_tolerance, archive.error
            )
            fps = self.fps
            if "fps" in archive:
                rate = as_numbers("fps", archive.read("fps"), archive.error)
                if rate.size != 1 or rate.item() <= 0:
                    raise archive.error(f"fps is {rate.tolist()}, expected one number above 0.")
                fps = float(rate.item())
            if "intrinsics" in archive:
                given = as_intrinsics("intrinsics", archive.read("intrinsics"), len(poses), archive.error)
                lens, assumed = intrinsics_at_video_size(source, given, archive.error)
            else:
                lens, assumed = assumed_intrinsics(source, len(poses), archive.error)
        depth, depth_assumed = assumed_depths(source, poses)
        rows = self._rows(timeline, len(poses), fps)
        trajectory = Trajectory(
            camera_to_world=poses[rows],
            intrinsics=lens[rows],
            frame_indices=np.arange(len(rows), dtype=np.int64),
            median_depth=depth[rows],
            width=timeline.width,
            height=timeline.height,
            frame_count=timeline.frame_count,
        )
        return Feature(trajectory.to_feature().arrays, {**assumed, **depth_assumed})

    def _rows(self, timeline: Timeline, count: int, fps: float) -> Indices:
        """The pose of each frame from the first on, as long as there are poses."""
        if self.frame_map == "index":
            return np.arange(min(count, timeline.frame_count))
        rows = np.rint((timeline.times_seconds - timeline.times_seconds[0]) * fps).astype(np.int64)
        return np.asarray(rows[rows < count])
