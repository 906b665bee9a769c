"""The camera path that was requested of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, get_args

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
    READ_POSES,
    ROTATION_TOLERANCE,
    RotationTolerance,
    as_camera_to_world,
    as_intrinsics,
    as_numbers,
)
from lookaway.io.pose_files.source import PoseSource, assumed_depths, assumed_intrinsics, intrinsics_at_video_size
from lookaway.perception.truth import lacks_truth, open_truth

FrameMap: TypeAlias = Literal["time", "index"]
COMMANDED: Final = "commanded_poses"
"""The artifact that names the file."""


@dataclass(frozen=True, slots=True)
class CommandedPoses(FramelessExtractor):
    """The trajectory in the rollout's `commanded_poses` artifact: `c2w`, and `intrinsics` and `fps` where they are.

    This is how SANA-WM-Bench stores paths: camera to world, OpenCV axes, metric. Each frame of the video has the pose
    that is nearest in time; by `index`, frame i has pose i, whatever both rates are. Frames after the end of the path
    have none. A clip of the simulated world brings its request with it.
    """

    name: ClassVar[str] = "commanded_poses"
    constants: ClassVar[tuple[str, ...]] = READ_POSES
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
        path = rollout.artifacts.get(COMMANDED)
        if (path is None and lacks_truth(rollout) is None) or (path is not None and path.is_file()):
            return None
        return Abstention(
            Reason.MISSING_INPUT,
            "the record names no camera path that was requested. Put it beside the video, as NAME.request.npz with c2w "
            "[poses, 4, 4] and fps, or name it in the manifest.",
        )

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the path."""
        if COMMANDED not in rollout.artifacts:
            return _of_world(rollout, timeline).to_feature()
        source = PoseSource(
            path=rollout.artifacts[COMMANDED], timeline=timeline, assumed_fov_degrees=self.assumed_fov_degrees
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


def _of_world(rollout: Rollout, timeline: Timeline) -> Trajectory:
    clip = open_truth(rollout, timeline)
    arrays, count = clip.arrays(), clip.card.frames
    return Trajectory(
        camera_to_world=arrays.requested_camera_to_world[:count],
        intrinsics=np.repeat(arrays.intrinsics[None], count, axis=0),
        frame_indices=np.arange(count),
        median_depth=np.ones(count),
        width=clip.card.width,
        height=clip.card.height,
        frame_count=count,
    )
