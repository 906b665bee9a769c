"""Camera poses from nothing but the frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import ExtractorBase, Feature, Features, Frame, FrameRequest, Rollout, Sampler, Timeline, Trajectory
from lookaway.io.sampling import UniformFrames
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.tracking.camera_path import TrackedPath
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.follower import Follower
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.sightings import Sighting


@dataclass(frozen=True, slots=True)
class TrackedPoses(ExtractorBase):
    """The camera's path by matched SIFT points, as a camera that stands still, only turns, or moves past a scene.

    Poses are in the axes of the first posed frame. A camera that only turns has one centre and a median depth of 1.
    A path that moves has no scale of its own: its unit is the median depth of the first posed frame. Frames that
    cannot be linked to the others have no pose.

    Where the chain of frames breaks, as it does where everything is repainted, the pieces are joined by extrapolation
    if the camera rests, turns or moves alike on both sides and the edges of both frames agree. The detail has the
    number of pieces and lists the breaks. A path that breaks in another way, as by a cut to another place, is declined.
    """

    name: ClassVar[str] = "tracked_poses"
    version: ClassVar[int] = 3
    of_video: ClassVar[bool] = True
    software: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "scipy")
    seconds_per_frame: ClassVar[float] = 0.1
    bytes_per_frame: ClassVar[float] = 228.0
    arrays: ClassVar[Mapping[str, str]] = {
        "camera_to_world": "float64 [frames, 4, 4]: OpenCV axes, relative to the first posed frame",
        "intrinsics": "float64 [frames, 3, 3]: one focal length, the principal point in the middle of the picture",
        "frame_indices": "int64 [frames]: which frames have a pose",
        "median_depth": "float64 [frames]: of the points seen; 1 where the camera only turns",
        "size": "int64 [3]: width, height and number of frames of the video",
        "pieces": "int64 [frames]: the piece of the path, which breaks where no points could be followed",
    }

    frames: Annotated[Sampler, "which frames are sampled"] = UniformFrames(120)
    height: Annotated[int, "frame height at which points are found, where the video is not smaller"] = 320
    keypoints: Annotated[int, "strongest points kept in a frame"] = 1000
    ratio: Annotated[float, "a match must be nearer than this part of the second nearest, seen from both frames"] = 0.8
    tolerance: Annotated[float, "pixels by which points of the scene may be off their place"] = 1.0
    step: Annotated[float, "part of the width that the picture moves from keyframe to keyframe"] = 0.05
    field_of_view: Annotated[float, "degrees across the longer side, believed where the frames do not tell"] = 60.0
    field_spread: Annotated[float, "standard deviation of the logarithm of the focal length in that belief"] = 0.3
    min_posed: Annotated[float, "minimum share of the sampled frames with a pose"] = 0.9
    settings: Annotated[TrackerSettings, "how the path is found"] = TrackerSettings()

    def load(self) -> TrackedPoses:
        """Nothing but OpenCV."""
        load_opencv()
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _TrackingExtraction:
        """Start on one rollout."""
        request = FrameRequest(frozenset(self.frames.indices(timeline, rollout)), min(self.height, timeline.height))
        return _TrackingExtraction(self, load_opencv(), timeline, request)


@dataclass(frozen=True, slots=True)
class _TrackingExtraction:
    recipe: TrackedPoses
    cv2: ModuleType
    timeline: Timeline
    request: FrameRequest
    size: list[int] = field(default_factory=list)
    """Width and height of the frames, once one was seen."""
    seen: list[Sighting] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        self.size[:] = frame.pixels.shape[1], frame.pixels.shape[0]
        self.seen.append(Sighting.of(self.cv2, frame, self.recipe.keypoints, self.recipe.settings.outline.height))

    def finish(self) -> Feature:
        recipe = self.recipe
        follower = Follower(
            cv2=self.cv2,
            ratio=recipe.ratio,
            tolerance=recipe.tolerance,
            step=recipe.step * max(self.size),
            prior=FocalPrior.from_field(
                recipe.field_of_view, max(self.size), recipe.field_spread, recipe.settings.widest
            ),
            min_posed=recipe.min_posed,
            settings=recipe.settings,
        )
        return self._feature(follower.follow(self.seen))

    def _feature(self, path: TrackedPath) -> Feature:
        width, height = self.timeline.width, self.timeline.height
        focal = path.focal * np.array([width, height]) / self.size
        intrinsics = np.array([[focal[0], 0.0, width / 2], [0.0, focal[1], height / 2], [0.0, 0.0, 1.0]])
        trajectory = Trajectory(
            camera_to_world=path.camera_to_world,
            intrinsics=np.repeat(intrinsics[None], len(path.frame_indices), axis=0),
            frame_indices=path.frame_indices,
            median_depth=path.median_depth,
            width=width,
            height=height,
            frame_count=self.timeline.frame_count,
        )
        arrays = {**trajectory.to_feature().arrays, "pieces": path.pieces}
        return Feature(arrays, {**path.detail, "focal_pixels": float(focal[0])})
