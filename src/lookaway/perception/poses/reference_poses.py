"""Camera poses that lie beside the video that shows what is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    Extractor,
    Feature,
    Features,
    Reason,
    Reference,
    Rollout,
    Timeline,
    Unmeasurable,
    UserError,
)
from lookaway.io.pose_files.checks import ROTATION_TOLERANCE
from lookaway.io.pose_files.layouts import READERS, PoseLayout
from lookaway.io.video import probe
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.reading import Reading


@dataclass(frozen=True, slots=True)
class ReferencePoses:
    """The trajectory in the `poses` artifact of the case's reference, from the frame on at which answers begin.

    Frames count as in the answer: its frame i stands for frame `start` + i of the reference, and the first image that
    the file names is taken for frame `start`, as MIND does. Where no file holds intrinsics, a field of view is assumed
    and told in the feature's detail; motions do not depend on it.
    """

    name: ClassVar[str] = "reference_poses"
    version: ClassVar[int] = 1
    software: ClassVar[tuple[str, ...]] = ()
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    needs: ClassVar[Mapping[str, Extractor]] = {}
    of_reference: ClassVar[bool] = True

    layout: Annotated[PoseLayout, "which tool wrote the poses"] = "colmap"
    rotation_tolerance: Annotated[float, "how far R R^T may be from the identity before the poses count as failed"] = (
        ROTATION_TOLERANCE
    )
    assumed_fov_degrees: Annotated[float | None, "horizontal field of view where no file holds intrinsics"] = 90.0
    may_outlast_video: Annotated[
        bool, "takes the first images where COLMAP names more than the video has frames, as MIND's own code does"
    ] = False

    def __post_init__(self) -> None:
        self._supplied()  # refuses what no recipe of poses can have
        if self.may_outlast_video and self.layout != "colmap":
            raise UserError(f"Only COLMAP's images may outlast the video, found the layout {self.layout!r}.")

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether there is a reference, with its poses."""
        try:
            reference = _posed_reference(rollout)
        except Unmeasurable as error:
            return Abstention(error.reason, str(error))
        declined = self._supplied().declines(_as_rollout(rollout, reference))
        return declined and replace(declined, message=f"the true video: {declined.message}")

    def load(self) -> ReferencePoses:
        """Nothing to load."""
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Reading:
        """Start on one rollout."""
        reference = _posed_reference(rollout)
        return Reading(lambda: self._read(rollout, reference))

    def _read(self, rollout: Rollout, reference: Reference) -> Feature:
        try:
            source = self._supplied().source(_as_rollout(rollout, reference), _from_start(reference))
            read = READERS[self.layout](replace(source, may_outlast_video=self.may_outlast_video))
        except Unmeasurable as error:  # files of the reference are often named like those of the answer
            raise Unmeasurable(error.reason, f"the true video from frame {reference.start} on: {error}") from error
        return Feature(read.trajectory.to_feature().arrays, read.assumptions)

    def _supplied(self) -> SuppliedPoses:
        return SuppliedPoses(
            layout=self.layout,
            rotation_tolerance=self.rotation_tolerance,
            assumed_fov_degrees=self.assumed_fov_degrees,
            first_frame_number=None,
        )


def _posed_reference(rollout: Rollout) -> Reference:
    reference = rollout.case.reference
    if reference is None:
        raise Unmeasurable(Reason.MISSING_INPUT, "the case names no true video.")
    if "poses" not in reference.artifacts:
        video = reference.video
        raise Unmeasurable(
            Reason.MISSING_INPUT,
            f"there is no images.txt beside the true video {video.parent.name}/{video.name}. Put its camera from frame "
            f"{reference.start} on there, as COLMAP writes it.",
        )
    return reference


def _as_rollout(rollout: Rollout, reference: Reference) -> Rollout:
    return replace(rollout, video=reference.video, artifacts=reference.artifacts)


def _from_start(reference: Reference) -> Timeline:
    """Of the frames that answers are compared with; poses of more frames than there are belong to other ones."""
    whole = probe(reference.video)
    if reference.start >= whole.frame_count:
        raise Unmeasurable(
            Reason.INVALID_RECORD,
            f"answers begin at frame {reference.start}, but {reference.video.name} has {whole.frame_count} frames.",
        )
    return replace(whole, times_seconds=whole.times_seconds[reference.start :])
