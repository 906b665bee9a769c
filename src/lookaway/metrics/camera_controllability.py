"""How far a camera follows that of a reference video of another length, and how far that one turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    UnknownName,
    angles_degrees,
)

Rotation: TypeAlias = Literal["path", "net"]
"""All turns of a camera added up, or the angle between its first and its last orientation."""
RotationField: TypeAlias = Annotated[
    Rotation, "`path` adds up all turns of the reference, `net` is from its first orientation to its last"
]


def total_rotation(rotations: Floats, rotation: Rotation) -> float:
    """How far a camera [N, 3, 3] turns, in degrees.

    >>> there_and_back = np.array([np.eye(3), np.diag([-1.0, -1.0, 1.0]), np.eye(3)])
    >>> round(total_rotation(there_and_back, "path")), round(total_rotation(there_and_back, "net"))
    (360, 0)
    """
    if rotation == "net":
        return float(angles_degrees(rotations[-1], rotations[0]))
    return float(angles_degrees(rotations[1:], rotations[:-1]).sum())


def _steps(rotations: Floats) -> Floats:
    return np.asarray(rotations[:-1].transpose(0, 2, 1) @ rotations[1:])


def _root_mean_square(degrees: Floats) -> float:
    return float(np.sqrt(np.mean(degrees**2)))


@dataclass(frozen=True, slots=True)
class CameraControllability(MetricBase):
    """1 - error / total rotation of the reference, at least 0: how closely orientations follow those of the reference.

    The error is the root mean square of the angle between both orientations, frame by frame, after their first ones
    were made equal; translations do not count. The frame of the reference is the one that is as far into the video. The
    total is at least `floor_degrees`. By default it is the length of the path; MemoBench's own code takes the net
    rotation, which is 0 where a camera comes back, so that 5 % of a missing turn can cost a quarter of the score.

    The raw value is the error in degrees. A camera that never moves does not score 0 with either: `detail.still` is
    what it would score. `rotation_followed` gives it 0.

    Abstains: `missing_input` without poses of either video; `too_short` where fewer than `min_frames` frames have
    both; `pose_failed` where poses hold no valid camera.
    """

    name = "camera_controllability"
    raw_unit = "degrees"
    needs = ("poses", "reference_poses")

    rotation: RotationField = "path"
    floor_degrees: Annotated[float, "the least that an error is divided by"] = 10.0
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2

    def __post_init__(self) -> None:
        if self.rotation not in get_args(Rotation):
            raise UnknownName("rotation", self.rotation, get_args(Rotation))
        if self.floor_degrees <= 0:
            raise ValueError(f"an error is divided by more than 0 degrees, found {self.floor_degrees}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rotations = _both_rotations(features, self.min_frames)
        if isinstance(rotations, Abstention):
            return rotations
        ours, theirs = rotations
        error, still = error_and_still(ours, theirs)
        total = total_rotation(theirs, self.rotation)
        divisor = max(total, self.floor_degrees)
        return Score(
            max(0.0, 1 - error / divisor),
            raw=error,
            detail={
                "ate_rot_deg": error,
                "total_gt_rot_deg": total,
                "mean_rot_error_deg": float(angles_degrees(_steps(ours), _steps(theirs)).mean()),
                "still": max(0.0, 1 - still / divisor),
                "frames": len(ours),
            },
        )


@dataclass(frozen=True, slots=True)
class RotationFollowed(MetricBase):
    """1 - error / error of a camera that never moves, at least 0: the share of the reference's turns that is followed.

    The error is that of `camera_controllability`. A camera that turns s times as far as the reference scores s up to
    s = 1 and 2 - s beyond, one that never moves 0. The raw value is the error in degrees.

    Abstains: `missing_input` without poses of either video; `too_short` where fewer than `min_frames` frames have
    both; `pose_failed` where poses hold no valid camera; `not_applicable` where a camera that never moves is less than
    `min_degrees` off, since there is nothing to follow.
    """

    name = "rotation_followed"
    raw_unit = "degrees"
    needs = ("poses", "reference_poses")

    min_degrees: Annotated[float, "least error of a camera that never moves"] = 5.0
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2

    def __post_init__(self) -> None:
        if self.min_degrees <= 0:
            raise ValueError(f"an error is divided by more than 0 degrees, found {self.min_degrees}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rotations = _both_rotations(features, self.min_frames)
        if isinstance(rotations, Abstention):
            return rotations
        error, still = error_and_still(*rotations)
        if still < self.min_degrees:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"the camera of the reference is {still:.1f} degrees from its first orientation, root mean square; "
                f"at least {self.min_degrees:g} are needed.",
            )
        return Score(max(0.0, 1 - error / still), raw=error, detail={"still_deg": still, "frames": len(rotations[0])})


def _both_rotations(features: Features, min_frames: int) -> tuple[Floats, Floats] | Abstention:
    """Orientations of all posed frames, and of the reference at the same part of its video."""
    estimated, reference = (Trajectory.from_feature(features[name]) for name in ("poses", "reference_poses"))
    found = len(estimated.frame_indices)
    if found < max(2, min_frames):
        return Abstention(Reason.TOO_SHORT, f"{found} frames have a pose, at least {max(2, min_frames)} are needed.")
    ours, theirs = estimated.rotations, reference.rotations[_corresponding(estimated, reference)]
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return Abstention(Reason.POSE_FAILED, "a camera pose is not finite: the pose estimator failed.")
    return ours, theirs


def error_and_still(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Root mean square of the angles between both, and of those that a camera that never moves would have."""
    error = _root_mean_square(angles_degrees(theirs[0] @ ours[0].T @ ours, theirs))
    return error, _root_mean_square(angles_degrees(theirs, theirs[0]))


def _corresponding(estimated: Trajectory, reference: Trajectory) -> Floats:
    """For each posed frame, the pose of the reference nearest to the frame that is as far into its video."""
    last, reference_last = max(estimated.frame_count - 1, 1), reference.frame_count - 1
    frames = np.rint(estimated.frame_indices * reference_last / last)
    return np.asarray(np.abs(reference.frame_indices[None] - frames[:, None]).argmin(axis=1))


@dataclass(frozen=True, slots=True)
class ReferenceTurned(MetricBase):
    """1 where the camera of the reference video turns by `min_degrees` or more, else 0; the generated video is ignored.

    MemoBench's motion gate. The mean over rollouts is the share of cases that it keeps, the same for every model: a
    video that stands still passes it wherever its reference turns. The raw value is the rotation in degrees.

    Abstains: `missing_input` without poses of the reference; `too_short` where it has fewer than two.
    """

    name = "reference_turned"
    unit = "share"
    raw_unit = "degrees"
    needs = ("reference_poses",)

    min_degrees: Annotated[float, "rotation from which on a case is kept"] = 90.0
    rotation: RotationField = "path"

    def __post_init__(self) -> None:
        if self.rotation not in get_args(Rotation):
            raise UnknownName("rotation", self.rotation, get_args(Rotation))

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        reference = Trajectory.from_feature(features["reference_poses"])
        if len(reference.frame_indices) < 2:
            return Abstention(Reason.TOO_SHORT, "the reference video has fewer than two poses.")
        degrees = total_rotation(reference.rotations, self.rotation)
        return Score(float(degrees >= self.min_degrees), raw=degrees)
