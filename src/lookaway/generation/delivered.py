"""The path that a model will really execute, and how far it is from the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np

from lookaway.core import Floats, Indices, Json, angles_degrees
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.camera_motion import Axis
from lookaway.generation.request import CameraRequest, poses_between

Scale: TypeAlias = Literal["exact", "normalised", "unknown"]
Executable: TypeAlias = Literal["exact", "quantised", "text", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredPath:
    """Poses that the model reads, relative to the pose of the first frame that it is given."""

    camera_to_world: Floats
    """[N, 4, 4]"""
    frame: Indices
    """[N] the output frame of each pose."""
    frame_of_request: Floats
    """[N] where in the request each pose belongs, in frames."""

    def archive(self) -> bytes:
        """As `delivered.npz`."""
        return npz_bytes(
            c2w=self.camera_to_world, frame=self.frame.astype(np.int64), frame_of_request=self.frame_of_request
        )

    def of_frames(self, frames: int) -> Floats:
        """[frames, 4, 4] the pose of every output frame, between those that are delivered."""
        at = np.interp(np.arange(frames), self.frame, np.arange(len(self.frame)))
        return poses_between(self.camera_to_world, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What of a request does not reach the model; `None` where nobody can know."""

    peak_angle_error_deg: float | None
    return_error_deg: float | None
    return_error_trans: float | None
    """In units of the request."""
    path_rmse_deg: float | None
    seconds_requested: float | None
    seconds_delivered: float
    frames_requested: int | None
    frames_delivered: int
    scale: Scale
    unsupported_axes: tuple[Axis, ...]
    quantum: Mapping[Axis, tuple[float, float]]
    """Smallest step of each axis, and the output frames that it takes; none where any amount can be asked for."""
    first_frame_kept: bool
    """Whether the first output frame is the picture that the model is given."""
    executable: Executable

    def to_json(self) -> dict[str, Json]:
        """As `loss.json`."""
        values: dict[str, Json] = {each.name: getattr(self, each.name) for each in fields(self)}
        values["unsupported_axes"] = list(self.unsupported_axes)
        values["quantum"] = {axis: list(found) for axis, found in self.quantum.items()}
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class PathErrors:
    """How a delivered path differs from a request."""

    peak_deg: float
    return_deg: float
    return_trans: float
    rmse_deg: float

    @classmethod
    def between(cls, camera: CameraRequest, delivered: DeliveredPath) -> PathErrors:
        """Peaks are the largest angles from the first view; a path is compared at the times of its poses."""
        poses, asked = delivered.camera_to_world, camera.camera_to_world
        turned, wanted = (_turned(path) for path in (poses, asked))
        along = poses_between(asked, delivered.frame_of_request)
        apart = angles_degrees(poses[:, :3, :3], along[:, :3, :3])
        return cls(
            peak_deg=abs(float(np.abs(turned).max() - np.abs(wanted).max())),
            return_deg=float(angles_degrees(poses[-1, :3, :3], asked[-1, :3, :3])),
            return_trans=float(np.linalg.norm(poses[-1, :3, 3] - asked[-1, :3, 3])),
            rmse_deg=float(np.sqrt(np.mean(apart**2))),
        )


def _turned(poses: Floats) -> Floats:
    """[N] degrees from the first view, beyond half a circle where the camera turns on."""
    plain = angles_degrees(poses[:, :3, :3], np.eye(3))
    ahead = poses[:, :3, 2]
    yaw = np.degrees(np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2])))
    return np.where(np.abs(yaw) > 180, yaw, plain)
