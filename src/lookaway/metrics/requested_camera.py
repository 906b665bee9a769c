"""How closely the camera of a generated video follows the path that was requested, and whether it went that way at all.

These are WRBench's CamPrec and CamAlign, without their defects unless `as_published` is set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from lookaway.core import (
    Abstention,
    Feature,
    Features,
    Floats,
    Json,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    angles_degrees,
)
from lookaway.core.trajectory import EXTENT_AS_DEPTH
from lookaway.metrics.camera_controllability import error_and_still
from lookaway.metrics.relative_pose import parse_action

MIN_MOVE: Final = 1e-4
"""A requested path that is shorter does not move, in the unit of its poses."""


@dataclass(frozen=True, slots=True)
class RequestedCameraPrecision(MetricBase):
    """How closely the camera follows the requested path, in turns and in moves; WRBench's CamPrec.

    Where the request turns, the part for turns is 1 - error / error of a camera that never moves, at least 0: a camera
    that turns 2 of 60 degrees scores 0.03. Where the request stays in place, the part for moves is exp(-drift /
    `translation_scale`), with the drift in median depths of the scene. Where it moves, it is 1 - error / length of the
    request, root mean square, after one scale was fitted, since the unit of the poses is not known. The value is the
    product of both parts, the raw value the error of orientations in degrees. The request spans the video: the pose
    that is compared with a frame is interpolated at the same part of the path, with rotations on their shortest way.

    As published, frame i is compared with pose i, the value is exp(-(mean error / `rotation_scale_degrees` +
    translation error / `translation_scale`)), moves do not count where the request has none, and the value is 0 where
    the peak is below `min_yaw_degrees` or on the other side. A request that stands still scores 1 or 0.

    Abstains: `missing_input` without poses or without a requested path; `not_applicable` for a request that stands
    still, except as published; `too_short` for fewer than `min_frames` posed frames; `invalid_record` where a sidecar
    contradicts the path; `pose_failed` where poses hold no valid camera; as published, `invalid_input` where the path
    has not one pose for each frame, which the code calls a length mismatch.
    """

    name = "requested_camera_precision"
    raw_unit = "degrees"
    needs = ("poses", "requested_poses")

    translation_scale: Annotated[float, "drift, in median depths, that costs a factor of e"] = 1.0
    rotation_scale_degrees: Annotated[float, "error that costs a factor of e where no turn is requested"] = 45.0
    min_yaw_degrees: Annotated[float, "a smaller turn is no turn"] = 2.0
    hold_degrees: Annotated[float, "largest turn of a camera that holds still, as published"] = 2.0
    hold_translation: Annotated[float, "largest move of a camera that holds still, as published"] = 0.05
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2
    as_published: Annotated[bool, "whether to score as the published code does"] = False

    def __post_init__(self) -> None:
        for name in ("translation_scale", "rotation_scale_degrees", "min_yaw_degrees"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is more than 0, found {getattr(self, name)}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        estimated, request = (Trajectory.from_feature(features[name]) for name in self.needs)
        found = len(estimated.frame_indices)
        if found < max(2, self.min_frames) or len(request.frame_indices) < 2:
            return Abstention(
                Reason.TOO_SHORT, f"{found} frames have a pose, at least {max(2, self.min_frames)} needed."
            )
        if not np.isfinite(estimated.camera_to_world).all():
            return Abstention(Reason.POSE_FAILED, "a camera pose is not finite: the pose estimator failed.")
        if self.as_published:
            if estimated.frame_count != len(request.frame_indices):
                return Abstention(
                    Reason.INVALID_INPUT,
                    f"length_mismatch: the target has {len(request.frame_indices)} poses, the video "
                    f"{estimated.frame_count} frames.",
                )
            pair = _Compared.of(estimated.camera_to_world, request.camera_to_world[estimated.frame_indices], 1.0)
            return self._published(pair)
        last = max(1, estimated.frame_count - 1)
        wanted = resampled(request.camera_to_world, estimated.frame_indices / last)
        return self._ours(_Compared.of(estimated.camera_to_world, wanted, scene_unit(features["poses"])))

    def _ours(self, pair: _Compared) -> Outcome:
        error, still = error_and_still(pair.ours[:, :3, :3], pair.theirs[:, :3, :3])
        turns, moves = still >= self.min_yaw_degrees, pair.requested_extent >= MIN_MOVE
        if not turns and not moves:
            return Abstention(
                Reason.NOT_APPLICABLE,
                "the request stands still: whether the camera holds is measured by requested_camera_alignment.",
            )
        turned = max(0.0, 1 - error / still) if turns else math.exp(-error / self.rotation_scale_degrees)
        if moves:
            moved = max(0.0, 1 - pair.scaled_error())
        else:
            moved = math.exp(-pair.drift / self.translation_scale)
        return Score(turned * moved, raw=error, detail={**pair.facts(), "turned": turned, "moved": moved})

    def _published(self, pair: _Compared) -> Score:
        degrees = float(angles_degrees(pair.ours[:, :3, :3], pair.theirs[:, :3, :3]).mean())
        is_yaw = abs(pair.requested_yaw) >= self.min_yaw_degrees
        is_pan = not is_yaw and abs(pair.requested_side) >= MIN_MOVE
        if is_yaw:
            is_right = abs(pair.yaw) >= self.min_yaw_degrees and pair.yaw * pair.requested_yaw > 0
        elif is_pan:
            is_right = abs(pair.side) >= MIN_MOVE and pair.side * pair.requested_side > 0
        else:
            is_right = pair.largest_turn <= self.hold_degrees and pair.largest_move <= self.hold_translation
        value = float(is_right)
        if is_right and (is_yaw or is_pan):
            value = math.exp(-(degrees / self.rotation_scale_degrees + pair.scaled_error() / self.translation_scale))
        return Score(value, raw=degrees, detail=pair.facts())


@dataclass(frozen=True, slots=True)
class RequestedCameraAlignment(MetricBase):
    """Whether the camera turns to the side that was asked for, and how far; or whether it holds; WRBench's CamAlign.

    (|peak| - `min_yaw_degrees`) / (|requested peak| - `min_yaw_degrees`) between 0 and 1, and 0 where the peak is on
    the other side. The requested peak is that of the path or, where there is none, the one that the case names.
    Where neither is known, as of models that are only prompted, or as published, it is `full_yaw_degrees`. Coming back
    is not required. For a request that stands still the value is 1 - the larger
    of turn / `hold_degrees` and move / `hold_translation`, at least 0; moves are in median depths, and as published in
    the unit of the poses. The raw value is the peak in degrees, to the right if positive.

    Abstains: `missing_input` without poses or without an action; `not_applicable` for an action that neither turns left
    or right nor stands still; `too_short` for fewer than `min_frames` posed frames; `pose_failed` where poses hold no
    valid camera.
    """

    name = "requested_camera_alignment"
    raw_unit = "degrees"
    needs = ("poses",)
    uses = ("requested_poses",)

    min_yaw_degrees: Annotated[float, "a smaller turn is no turn"] = 2.0
    full_yaw_degrees: Annotated[float, "peak of full score where no amplitude is requested"] = 30.0
    hold_degrees: Annotated[float, "turn at which a camera that should hold scores 0"] = 5.0
    hold_translation: Annotated[float, "move at which a camera that should hold scores 0"] = 0.1
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2
    as_published: Annotated[bool, "whether to score as the published code does"] = False

    def __post_init__(self) -> None:
        if not 0 <= self.min_yaw_degrees < self.full_yaw_degrees:
            raise ValueError(
                f"a full turn is larger than the least one, found {self.full_yaw_degrees} and {self.min_yaw_degrees}."
            )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action turns to a side, or stands still."""
        action = rollout.case.action
        if not action:
            return Abstention(Reason.MISSING_INPUT, "the case names no camera action.")
        if _side(action) is None:
            return Abstention(
                Reason.NOT_APPLICABLE, f"the action {action!r} neither turns left or right nor stands still."
            )
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        estimated = Trajectory.from_feature(features["poses"])
        found = len(estimated.frame_indices)
        if found < max(2, self.min_frames):
            return Abstention(
                Reason.TOO_SHORT, f"{found} frames have a pose, at least {max(2, self.min_frames)} needed."
            )
        if not np.isfinite(estimated.camera_to_world).all():
            return Abstention(Reason.POSE_FAILED, "a camera pose is not finite: the pose estimator failed.")
        unit = 1.0 if self.as_published else scene_unit(features["poses"])
        pair = _Compared.of(estimated.camera_to_world, estimated.camera_to_world, unit)
        side = _side(rollout.case.action or "")
        detail: dict[str, Json] = {"peak_degrees": pair.yaw, "end_degrees": pair.end_yaw}
        if not side:
            loss = max(pair.largest_turn / self.hold_degrees, pair.largest_move / self.hold_translation)
            detail |= {"turned_degrees": pair.largest_turn, "moved": pair.largest_move}
            return Score(max(0.0, 1 - loss), raw=pair.yaw, detail=detail)
        full = self._full_degrees(rollout, features)
        peak = abs(pair.yaw)
        detail["requested_degrees"] = side * full
        if peak < self.min_yaw_degrees or pair.yaw * side < 0:
            status = "weak_motion" if peak < self.min_yaw_degrees else "direction_mismatch"
            return Score(0.0, raw=pair.yaw, detail={**detail, "status": status})
        value = min(1.0, (peak - self.min_yaw_degrees) / (full - self.min_yaw_degrees))
        return Score(value, raw=pair.yaw, detail={**detail, "status": "ok"})

    def _full_degrees(self, rollout: Rollout, features: Features) -> float:
        if self.as_published:
            return self.full_yaw_degrees
        requested = rollout.case.turn_degrees or 0.0
        if "requested_poses" in features:
            requested = abs(peak_yaw_degrees(features["requested_poses"]["camera_to_world"]))
        return requested if requested > self.min_yaw_degrees else self.full_yaw_degrees


@dataclass(frozen=True, slots=True)
class _Compared:
    """Two paths of one length, with one first pose."""

    ours: Floats
    """[N, 4, 4]"""
    theirs: Floats
    unit: float
    """Length that counts as 1 in what is said of our own moves."""

    @classmethod
    def of(cls, ours: Floats, theirs: Floats, unit: float) -> _Compared:
        return cls(np.asarray(theirs[0] @ np.linalg.inv(ours[0]) @ ours), theirs, unit)

    @property
    def yaw(self) -> float:
        return peak_yaw_degrees(self.ours)

    @property
    def end_yaw(self) -> float:
        return float(yaws_degrees(self.ours)[-1])

    @property
    def requested_yaw(self) -> float:
        return peak_yaw_degrees(self.theirs)

    @property
    def side(self) -> float:
        return _peak(_moves(self.ours)[:, 0])

    @property
    def requested_side(self) -> float:
        return _peak(_moves(self.theirs)[:, 0])

    @property
    def requested_extent(self) -> float:
        return float(np.linalg.norm(_moves(self.theirs), axis=1).max())

    @property
    def largest_turn(self) -> float:
        return float(angles_degrees(self.ours[:, :3, :3], self.ours[0, :3, :3]).max())

    @property
    def largest_move(self) -> float:
        return float(np.linalg.norm(_moves(self.ours), axis=1).max() / self.unit)

    @property
    def drift(self) -> float:
        """Root mean square of the distance from the first centre, in units."""
        return _root_mean_square(_moves(self.ours)) / self.unit

    def scaled_error(self) -> float:
        """What is left of the requested moves after one scale of ours was fitted, from 0 to 1; 0 if there are none."""
        ours, theirs = _moves(self.ours), _moves(self.theirs)
        own = float((ours * ours).sum())
        scale = max(float((theirs * ours).sum()) / own, 0.0) if own > 0 else 0.0
        return _root_mean_square(theirs - scale * ours) / (_root_mean_square(theirs) + 1e-8)

    def facts(self) -> dict[str, Json]:
        """What happened, for the detail of a score."""
        return {
            "requested_peak_degrees": self.requested_yaw,
            "peak_degrees": self.yaw,
            "end_degrees": self.end_yaw,
            "drift": self.drift,
            "frames": len(self.ours),
        }


def resampled(poses: Floats, shares: Floats) -> Floats:
    """The path [N, 4, 4] at shares of its length from 0 to 1; rotations take their shortest way between poses.

    >>> half = resampled(np.stack([np.eye(4), np.diag([-1.0, 1.0, -1.0, 1.0])]), np.array([0.0, 0.5]))
    >>> round(float(half[1, 0, 0]), 6)
    0.0
    """
    times = np.linspace(0.0, 1.0, len(poses))
    found = np.tile(np.eye(4), (len(shares), 1, 1))
    found[:, :3, :3] = Slerp(times, Rotation.from_matrix(poses[:, :3, :3]))(np.clip(shares, 0.0, 1.0)).as_matrix()
    for axis in range(3):
        found[:, axis, 3] = np.interp(shares, times, poses[:, axis, 3])
    return found


def yaws_degrees(poses: Floats) -> Floats:
    """[N] WRBench's yaw relative to the first pose: to the right if positive."""
    relative = poses[0, :3, :3].T @ poses[:, :3, :3]
    return np.degrees(np.arctan2(relative[:, 0, 2], relative[:, 0, 0]))


def peak_yaw_degrees(poses: Floats) -> float:
    """The yaw that is farthest from that of the first pose."""
    return _peak(yaws_degrees(poses))


def scene_unit(poses: Feature) -> float:
    """The length that counts as 1: the median depth of the scene or, where it is not known, the unit of the poses."""
    if poses.detail.get("median_depth") == EXTENT_AS_DEPTH:
        return 1.0
    return float(np.median(poses["median_depth"]))


def _side(action: str) -> int | None:
    """-1 for an action that first turns left, 1 for right, 0 for one that stands still; `None` for all others."""
    phases = parse_action(action)
    if phases is None:
        return None
    first = next((phase for phase in phases if phase is not None), None)
    if first is None:
        return 0
    return int(first[4]) if first[4] and not any((*first[:4], first[5])) else None


def _moves(poses: Floats) -> Floats:
    """[N, 3] from the first centre."""
    return np.asarray(poses[:, :3, 3] - poses[0, :3, 3])


def _peak(values: Floats) -> float:
    return float(values[np.abs(values).argmax()])


def _root_mean_square(vectors: Floats) -> float:
    return float(np.sqrt((vectors * vectors).sum(axis=1).mean()))
