"""Camera poses beside the reference video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    Feature,
    Features,
    FramelessExtractor,
    Reason,
    Reference,
    Rollout,
    Timeline,
    Unmeasurable,
    UserError,
)
from lookaway.io.pose_files.checks import READ_POSES, ROTATION_TOLERANCE, RotationTolerance
from lookaway.io.pose_files.layouts import READERS, PoseLayout
from lookaway.io.video import probe
from lookaway.perception.poses.supplied_poses import SuppliedPoses

WRITTEN: Final[Mapping[str, tuple[str, str]]] = {
    "colmap": ("images.txt", "COLMAP"),
    "memobench": ("poses.npy, camera_full*.csv or *_mapanything.npz", "MemoBench"),
}
"""Files of poses by layout, and who writes them."""


@dataclass(frozen=True, slots=True)
class ReferencePoses(FramelessExtractor):
    """The trajectory in the `poses` artifact of the case's reference, from the frame at which generated videos begin.

    Frames count as in the generated video: its frame i is frame `start` + i of the reference, and the first image that
    the file names is taken for frame `start`, as MIND does. Where no file has intrinsics, a field of view is assumed
    and noted in the feature's detail; motions do not depend on it.
    """

    name: ClassVar[str] = "reference_poses"
    constants: ClassVar[tuple[str, ...]] = READ_POSES
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    of_reference: ClassVar[bool] = True

    layout: Annotated[PoseLayout, "which tool wrote the poses"] = "colmap"
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE
    assumed_fov_degrees: Annotated[float | None, "horizontal field of view where no file holds intrinsics"] = 90.0
    counts_images: Annotated[
        bool,
        "takes COLMAP's images one after the other in the order of their names, as MIND's own code does: numbers count "
        "for nothing, there may be more than the video has frames, every quaternion is brought to unit length, and the "
        "line after an image is never read",
    ] = False

    def __post_init__(self) -> None:
        self._supplied()  # refuses what no recipe of poses can have
        if self.counts_images and self.layout != "colmap":
            raise UserError(f"Only COLMAP's images can be counted, found the layout {self.layout!r}.")

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is a reference, with its poses."""
        try:
            reference = _posed_reference(rollout, self.layout)
        except Unmeasurable as error:
            return Abstention(error.reason, str(error))
        declined = self._supplied().declines(_as_rollout(rollout, reference))
        return declined and replace(declined, message=f"the reference video: {declined.message}")

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the poses of the reference."""
        reference = _posed_reference(rollout, self.layout)
        try:
            source = self._supplied().source(_as_rollout(rollout, reference), _from_start(reference))
            read = READERS[self.layout](replace(source, counts_images=self.counts_images))
        except Unmeasurable as error:  # files of the reference are often named like those of the generated video
            raise Unmeasurable(error.reason, f"the reference video from frame {reference.start} on: {error}") from error
        return Feature(read.trajectory.to_feature().arrays, read.assumptions)

    def _supplied(self) -> SuppliedPoses:
        return SuppliedPoses(
            layout=self.layout,
            rotation_tolerance=self.rotation_tolerance,
            assumed_fov_degrees=self.assumed_fov_degrees,
            first_frame_number=None,
        )


def _posed_reference(rollout: Rollout, layout: PoseLayout) -> Reference:
    reference = rollout.case.reference
    if reference is None:
        raise Unmeasurable(Reason.MISSING_INPUT, "the case names no reference video.")
    if "poses" not in reference.artifacts:
        video = reference.video
        files, tool = WRITTEN.get(layout, ("file of poses", layout))
        raise Unmeasurable(
            Reason.MISSING_INPUT,
            f"there is no {files} beside the reference video {video.parent.name}/{video.name}. Put its camera from "
            f"frame {reference.start} on there, as {tool} writes it.",
        )
    return reference


def _as_rollout(rollout: Rollout, reference: Reference) -> Rollout:
    return replace(rollout, video=reference.video, artifacts=reference.artifacts)


def _from_start(reference: Reference) -> Timeline:
    """The timeline of the compared frames; poses of more frames than these belong to other ones."""
    whole = probe(reference.video)
    if reference.start >= whole.frame_count:
        raise Unmeasurable(
            Reason.INVALID_RECORD,
            f"generated videos begin at frame {reference.start}, but {reference.video.name} has "
            f"{whole.frame_count} frames.",
        )
    return replace(whole, times_seconds=whole.times_seconds[reference.start :])
