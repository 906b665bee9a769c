"""The camera path in the sidecars of a WRBench video, and whether it is the one that they declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.spatial.transform import Rotation

from lookaway.core import (
    TRAJECTORY_ARRAYS,
    Abstention,
    ArtifactError,
    DatasetError,
    Feature,
    Features,
    Floats,
    FramelessExtractor,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
)
from lookaway.io.arrays import read_array
from lookaway.io.dataset_files import read_record
from lookaway.io.pose_files.checks import READ_POSES, ROTATION_TOLERANCE, RotationTolerance, as_camera_to_world
from lookaway.io.pose_files.source import PoseSource, assumed_depths, assumed_intrinsics

TARGET: Final = "target_poses"
"""The artifact that names `<video>.target_c2w.npy`."""
SIDECAR: Final = "camera_sidecar"
"""The artifact that names `<video>.camera.json`."""
YAW_TOLERANCE_DEGREES: Final = 1.0
"""Paths in single precision, and cameras that look a little down, stay well below it."""


class CameraSidecar(BaseModel):
    """What `<video>.camera.json` declares, as far as it is used."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    target_coordinate_convention: Literal["opencv_c2w"] = "opencv_c2w"
    yaw_peak_deg: float | None = None
    """Amplitude of the target, by declaration."""
    rotation_gain: Annotated[float, Field(gt=0, le=100)] = 1.0
    translation_gain: Annotated[float, Field(gt=0, le=100)] = 1.0
    fov: Annotated[float, Field(gt=0, lt=180)] | None = None
    target_c2w_is_model_effective: bool | None = None
    payload_type: str | None = None


@dataclass(frozen=True, slots=True)
class RequestedPath:
    """A target path as it is stored, and the request that it was made from."""

    target: Floats
    """[N, 4, 4] relative to its first pose."""
    request: Floats
    """[N, 4, 4] with all gains undone."""
    sidecar: CameraSidecar

    @classmethod
    def read(cls, target: Path, sidecar: Path | None, tolerance: float = ROTATION_TOLERANCE) -> RequestedPath:
        """Both files of a video; raises an `ArtifactError` where one is not valid or they contradict each other."""
        given, refuse = read_array(target)
        poses = as_camera_to_world("the path", given, "camera_to_world", tolerance, refuse)
        if len(poses) < 2:
            raise refuse(f"a path has 2 poses or more, found {len(poses)}.")
        poses = np.linalg.inv(poses[0]) @ poses
        try:
            declared = CameraSidecar() if sidecar is None else read_record(sidecar, CameraSidecar)
        except DatasetError as error:
            raise ArtifactError(Reason.INVALID_INPUT, str(error)) from error
        found = cls(poses, without_gain(poses, declared.rotation_gain, declared.translation_gain), declared)
        found.check()
        return found

    def check(self) -> None:
        """Compare the declared amplitude with those of the path, with and without its gain."""
        declared = self.sidecar.yaw_peak_deg
        if declared is None:
            return
        measured = [abs(peak_turn_degrees(path)) for path in (self.target, self.request)]
        if all(abs(abs(declared) - peak) > YAW_TOLERANCE_DEGREES for peak in measured):
            raise ArtifactError(
                Reason.INVALID_RECORD,
                f"the sidecar declares a turn of {declared:g} degrees, but the path turns by {measured[0]:.1f}. "
                "Write both again from one request.",
            )


def signed_turns_degrees(poses: Floats) -> Floats:
    """[N] how far a path has turned at each pose, to the right if positive; also beyond half a circle.

    >>> still = np.tile(np.eye(4), (3, 1, 1))
    >>> signed_turns_degrees(still).tolist()
    [0.0, 0.0, 0.0]
    """
    steps = _steps(poses).as_rotvec(degrees=True)
    # A camera that looks down turns about an axis that leans: its y part has the direction, its length the angle.
    signed = np.sign(steps[:, 1]) * np.linalg.norm(steps, axis=1)
    return np.concatenate([[0.0], np.cumsum(signed)])


def peak_turn_degrees(poses: Floats) -> float:
    """The largest turn away from the first pose, to the right if positive."""
    turned = signed_turns_degrees(poses)
    return float(turned[np.abs(turned).argmax()])


def without_gain(poses: Floats, rotation_gain: float, translation_gain: float) -> Floats:
    """The path whose turns and moves were multiplied by gains, step by step: 180 degrees have no direction."""
    if rotation_gain == translation_gain == 1.0:
        return poses
    turns = Rotation.from_rotvec(_steps(poses).as_rotvec() / rotation_gain).as_matrix()
    request = np.array(poses)
    for place, turn in enumerate(turns, start=1):
        request[place, :3, :3] = request[place - 1, :3, :3] @ turn
    request[:, :3, 3] /= translation_gain
    return request


def _steps(poses: Floats) -> Rotation:
    rotations = poses[:, :3, :3]
    return Rotation.from_matrix(rotations[:-1].transpose(0, 2, 1) @ rotations[1:])


@dataclass(frozen=True, slots=True)
class RequestedPoses(FramelessExtractor):
    """The path that was requested of a model, from `<video>.target_c2w.npy` and `<video>.camera.json`.

    WRBench multiplies the turns of some models by a gain and stores the result as the target, so that a request of 60
    degrees is a path of 180. Gains are undone by default. Frames are those of the path, which may be more or fewer than
    the video has: both span the same time. A sidecar that declares another amplitude than the path has is refused.
    """

    name: ClassVar[str] = "requested_poses"
    constants: ClassVar[tuple[str, ...]] = READ_POSES
    software: ClassVar[tuple[str, ...]] = ("scipy",)
    seconds_per_frame: ClassVar[float] = 0.0005
    bytes_per_frame: ClassVar[float] = 250.0
    arrays: ClassVar[Mapping[str, str]] = TRAJECTORY_ARRAYS
    of_reference: ClassVar[bool] = True

    undo_gain: Annotated[bool, "whether gains in the sidecar are undone; WRBench's code compares with the target"] = (
        True
    )
    assumed_fov_degrees: Annotated[float, "horizontal field of view where the sidecar has none"] = 60.0
    rotation_tolerance: RotationTolerance = ROTATION_TOLERANCE

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the path is there."""
        path = rollout.artifacts.get(TARGET)
        if path is not None and path.is_file():
            return None
        return Abstention(
            Reason.MISSING_INPUT,
            "no camera path was requested: the record names none, and there is no VIDEO.target_c2w.npy beside the "
            "video. A model that is only prompted has none.",
        )

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the path."""
        path = rollout.artifacts[TARGET]
        found = RequestedPath.read(path, rollout.artifacts.get(SIDECAR), self.rotation_tolerance)
        poses = found.request if self.undo_gain else found.target
        source = PoseSource(
            path=path, timeline=timeline, assumed_fov_degrees=found.sidecar.fov or self.assumed_fov_degrees
        )
        intrinsics, lens = assumed_intrinsics(source, len(poses), _refuse)
        depth, assumed = assumed_depths(source, poses)
        trajectory = Trajectory(
            camera_to_world=poses,
            intrinsics=intrinsics,
            frame_indices=np.arange(len(poses)),
            median_depth=depth,
            width=timeline.width,
            height=timeline.height,
            frame_count=len(poses),
        )
        detail = {
            **lens,
            **assumed,
            "rotation_gain": found.sidecar.rotation_gain,
            "declared_yaw_degrees": found.sidecar.yaw_peak_deg,
            "target_yaw_degrees": peak_turn_degrees(found.target),
            "requested_yaw_degrees": peak_turn_degrees(found.request),
        }
        return Feature(trajectory.to_feature().arrays, detail)


def _refuse(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
    return ArtifactError(reason, message)
