"""Camera poses that another tool wrote beside the video."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, get_args

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    Feature,
    Features,
    FramelessExtractor,
    Reason,
    Rollout,
    Timeline,
    UnknownName,
    Unmeasurable,
    UserError,
)
from lookaway.io.pose_files.checks import (
    AMBIGUOUS,
    DEPTH_STRIDE,
    READ_POSES,
    ROTATION_TOLERANCE,
    Convention,
    DepthStride,
    RotationTolerance,
    ToldConvention,
)
from lookaway.io.pose_files.layouts import READERS, PoseLayout
from lookaway.io.pose_files.source import PoseSource

WHICH_CONVENTION: Final = (
    "read as world_to_camera or as camera_to_world, the poses of this dataset fit its frames about equally well, not "
    "at all, or some models one way and others the other. Say which it is: extrinsics_convention in dataset.yaml, or "
    "--extrinsics-convention."
)


@dataclass(frozen=True, slots=True)
class SuppliedPoses(FramelessExtractor):
    """The trajectory in the rollout's `poses` artifact, written by Depth Anything 3, VGGT, MapAnything, ViPE or COLMAP.

    ViPE and COLMAP keep intrinsics in a file of their own, `intrinsics/<name>.npz` and `cameras.txt`; it is taken from
    the rollout's `intrinsics` artifact. What no file says is assumed as the recipe states, and noted in the
    feature's detail; without an assumption the rollout is unmeasurable.
    """

    name: ClassVar[str] = "supplied_poses"
    constants: ClassVar[tuple[str, ...]] = READ_POSES
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS

    convention: Annotated[
        ToldConvention, "what the stored matrices turn into what, where the layout leaves it open"
    ] = "world_to_camera"
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE
    depth_stride: DepthStride = DEPTH_STRIDE
    layout: Annotated[PoseLayout, "which tool wrote the poses"] = "da3"
    assumed_fov_degrees: Annotated[float | None, "horizontal field of view where no file holds intrinsics"] = None
    assumed_depth: Annotated[
        float | None, "depth of the scene in the units of the poses where no file holds depth; else the path's extent"
    ] = None
    first_frame_number: Annotated[
        int | None, "number of the video's first frame in the names of COLMAP's images; `None` is the lowest of them"
    ] = 0

    def __post_init__(self) -> None:
        if self.convention not in (*get_args(Convention), AMBIGUOUS):
            raise UnknownName("extrinsics convention", self.convention, get_args(Convention))
        if self.layout not in get_args(PoseLayout):
            raise UnknownName("layout of poses", self.layout, get_args(PoseLayout))
        if self.layout != "da3" and self.convention != "world_to_camera":
            raise UserError(f"The layout {self.layout!r} has one convention; leave out `convention`.")
        if self.assumed_fov_degrees is not None and not 0 < self.assumed_fov_degrees < 180:
            raise UserError(f"A field of view lies between 0 and 180 degrees, found {self.assumed_fov_degrees}.")
        if self.assumed_depth is not None and not 0 < self.assumed_depth < math.inf:
            raise UserError(f"A depth is positive and finite, found {self.assumed_depth}.")

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the artifact is there."""
        path = rollout.artifacts.get("poses")
        if path is None:
            return Abstention(
                Reason.MISSING_INPUT,
                "the record names no camera poses. Supply them, or track the camera with: --use poses=tracked_poses",
            )
        if not path.is_file():
            return Abstention(Reason.MISSING_INPUT, f"there is no file of camera poses at {path.name}.")
        if self.convention == AMBIGUOUS:
            return Abstention(Reason.POSE_CONVENTION_AMBIGUOUS, WHICH_CONVENTION)
        return None

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the poses."""
        read = READERS[self.layout](self.source(rollout, timeline))
        return Feature(read.trajectory.to_feature().arrays, read.assumptions)

    def source(self, rollout: Rollout, timeline: Timeline) -> PoseSource:
        """Where the poses of a rollout are, and how to take them."""
        if self.convention == AMBIGUOUS:
            raise Unmeasurable(Reason.POSE_CONVENTION_AMBIGUOUS, WHICH_CONVENTION)
        return PoseSource(
            path=rollout.artifacts["poses"],
            timeline=timeline,
            lens=rollout.artifacts.get("intrinsics"),
            convention=self.convention,
            rotation_tolerance=self.rotation_tolerance,
            depth_stride=self.depth_stride,
            assumed_fov_degrees=self.assumed_fov_degrees,
            assumed_depth=self.assumed_depth,
            first_frame_number=self.first_frame_number,
        )
