"""Camera poses that another tool wrote beside the video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_args

from lookaway.core import (
    Abstention,
    Extractor,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Reason,
    Rollout,
    Timeline,
    UnknownName,
)
from lookaway.io.poses import DEPTH_STRIDE, ROTATION_TOLERANCE, Convention, read_da3_poses


@dataclass(frozen=True, slots=True)
class SuppliedPoses:
    """The trajectory in the rollout's `poses` artifact, a `results.npz` as Depth Anything 3 writes it."""

    name: ClassVar[str] = "supplied_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    needs: ClassVar[Mapping[str, Extractor]] = {}

    convention: Annotated[Convention, "what the stored matrices turn into what"] = "world_to_camera"
    rotation_tolerance: Annotated[float, "how far R R^T may be from the identity before the poses count as failed"] = (
        ROTATION_TOLERANCE
    )
    depth_stride: Annotated[int, "every so many pixels of a depth map, in both directions, go into its median"] = (
        DEPTH_STRIDE
    )

    def __post_init__(self) -> None:
        if self.convention not in get_args(Convention):
            raise UnknownName("extrinsics convention", self.convention, get_args(Convention))

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the artifact is there."""
        path = rollout.artifacts.get("poses")
        if path is None:
            return Abstention(Reason.MISSING_INPUT, "the record names no camera poses.")
        if not path.is_file():
            return Abstention(Reason.MISSING_INPUT, f"there is no file of camera poses at {path.name}.")
        return None

    def load(self) -> SuppliedPoses:
        """Nothing to load."""
        return self

    def begin(self, rollout: Rollout, timeline: Timeline, features: Features) -> _Reading:
        """Start on one rollout."""
        return _Reading(self, rollout.artifacts["poses"], timeline)


@dataclass(frozen=True, slots=True)
class _Reading:
    recipe: SuppliedPoses
    path: Path
    timeline: Timeline
    request: ClassVar[FrameRequest | None] = None

    def see(self, frame: Frame) -> None:
        raise NotImplementedError("poses are read from a file and ask for no frames")

    def perceive(self) -> Feature:
        trajectory = read_da3_poses(
            self.path,
            self.timeline,
            self.recipe.convention,
            rotation_tolerance=self.recipe.rotation_tolerance,
            depth_stride=self.recipe.depth_stride,
        )
        return trajectory.to_feature()
