"""How closely the camera of a generated video follows the path that was requested, and whether it went that way at all.

`RequestedPathPrecision` is WRBench's CamPrec as its code computes it, `RequestedCameraPrecision` what we measure
instead; `RequestedCameraAlignment` is its CamAlign, in either reading.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
LEAST_SCALED: Final = 1e-12
"""WRBench's code fits no scale to moves whose squares sum to less."""
SIDEWAYS: Final = "pan_"
"""Begins the actions of a camera that moves sideways, as WRBench names them."""


@dataclass(frozen=True, slots=True)
class RequestedPathPrecision(MetricBase):
    """How close each pose is to the one that was requested for its frame; WRBench's CamPrec.

    exp(-(E_rot / `rotation_scale_degrees` + E_tr / `translation_scale`)) after the first poses were brought together.
    E_rot is the mean angle between both orientations of a frame. E_tr is the root mean square of what is left of the
    requested moves after one scale was fitted, over that of the request; a request that stays in place has no moves, so
    that a camera that drifts while it turns is not noticed. The value is 0 where the request or the camera turns less
    than `min_yaw_degrees`, or moves less than `min_move` sideways where that is asked for, or goes to the other side. A
    request that stands still scores 1 up to `hold_degrees` and `hold_translation`, in the unit of the poses, else 0. A
    camera that turns 2.1 of 60 degrees scores 0.53: it is near the request at both ends. The raw value is E_rot.

    Abstains: `missing_input` without poses, without a requested path or without an action; `not_applicable` for an
    action that neither turns nor moves sideways nor stands still; `too_short` for fewer than `min_frames` posed frames;
    `invalid_record` where a sidecar contradicts the path; `pose_failed` where poses hold no valid camera;
    `invalid_input` where the path has not one pose for each frame, which WRBench's code calls a length mismatch.
    """

    name = "requested_path_precision"
    constants = (f"{__name__}:LEAST_SCALED",)
    raw_unit = "degrees"
    needs = ("poses", "requested_poses")

    rotation_scale_degrees: Annotated[float, "mean error that costs a factor of e"] = 45.0
    translation_scale: Annotated[float, "error of moves, relative to the request, that costs a factor of e"] = 1.0
    min_yaw_degrees: Annotated[float, "a smaller turn is no turn"] = 2.0
    min_move: Annotated[float, "a shorter move sideways is no move"] = 1e-4
    hold_degrees: Annotated[float, "largest turn of a camera that holds still"] = 2.0
    hold_translation: Annotated[float, "largest move of a camera that holds still"] = 0.05
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2

    def __post_init__(self) -> None:
        _check_positive(self, ("rotation_scale_degrees", "translation_scale", "min_yaw_degrees", "min_move"))

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action turns, moves sideways, or stands still."""
        action = rollout.case.action or ""
        if _no_action(rollout) or _is_sideways(action) or _side(action) is not None:
            return _no_action(rollout)
        return Abstention(
            Reason.NOT_APPLICABLE,
            f"the action {action!r} neither turns left or right, nor moves sideways, nor stands still.",
        )

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        estimated = Trajectory.from_feature(features["poses"])
        request = Trajectory.from_feature(features["requested_poses"])
        if (unusable := _unusable(estimated, self.min_frames)) is not None:
            return unusable
        if estimated.frame_count != len(request.frame_indices):
            return Abstention(
                Reason.INVALID_INPUT,
                f"length_mismatch: the target has {len(request.frame_indices)} poses, the video "
                f"{estimated.frame_count} frames.",
            )
        pair = _Compared.of(estimated.camera_to_world, request.camera_to_world[estimated.frame_indices], 1.0)
        # The mean of angles by the trace, as in the code: of targets in single precision it differs by 0.01 degrees.
        traces = np.einsum("nij,nij->n", pair.theirs[:, :3, :3], pair.ours[:, :3, :3])
        error = float(np.degrees(np.arccos(np.clip((traces - 1) / 2, -1.0, 1.0))).mean())
        action = rollout.case.action or ""
        if _side(action) == 0:
            holds = pair.largest_turn <= self.hold_degrees and pair.largest_move <= self.hold_translation
            return Score(float(holds), raw=error, detail=pair.facts())
        if _is_sideways(action):
            peaks, least = (pair.side, pair.requested_side), self.min_move
        else:
            peaks, least = (pair.yaw, pair.requested_yaw), self.min_yaw_degrees
        if min(map(abs, peaks)) < least or peaks[0] * peaks[1] < 0:
            status = "weak_motion" if min(map(abs, peaks)) < least else "direction_mismatch"
            return Score(0.0, raw=error, detail={**pair.facts(), "status": status})
        loss = error / self.rotation_scale_degrees + pair.scaled_error(LEAST_SCALED) / self.translation_scale
        return Score(math.exp(-loss), raw=error, detail={**pair.facts(), "status": "ok"})


@dataclass(frozen=True, slots=True)
class RequestedCameraPrecision(MetricBase):
    """How closely the camera follows the requested path, in turns and in moves.

    Where the request turns, the part for turns is 1 - error / error of a camera that never moves, at least 0: a camera
    that turns 2 of 60 degrees scores 0.03. Where the request stays in place, the part for moves is exp(-drift /
    `translation_scale`), with the drift in median depths of the scene. Where it moves, it is 1 - error / length of the
    request, root mean square, after one scale was fitted, since the unit of the poses is not known. The value is the
    product of both parts, the raw value the error of orientations in degrees. The request spans the video: the pose
    that is compared with a frame is interpolated at the same part of the path, with rotations on their shortest way.

    Abstains: `missing_input` without poses or without a requested path; `not_applicable` for a request that stands
    still; `too_short` for fewer than `min_frames` posed frames; `invalid_record` where a sidecar contradicts the path;
    `pose_failed` where poses hold no valid camera.
    """

    name = "requested_camera_precision"
    constants = (f"{__name__}:MIN_MOVE",)
    raw_unit = "degrees"
    needs = ("poses", "requested_poses")

    translation_scale: Annotated[float, "drift, in median depths, that costs a factor of e"] = 1.0
    rotation_scale_degrees: Annotated[float, "error that costs a factor of e where no turn is requested"] = 45.0
    min_yaw_degrees: Annotated[float, "a smaller turn is no turn"] = 2.0
    min_frames: Annotated[int, "fewer posed frames than this say nothing"] = 2

    def __post_init__(self) -> None:
        _check_positive(self, ("translation_scale", "rotation_scale_degrees", "min_yaw_degrees"))

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        estimated = Trajectory.from_feature(features["poses"])
        request = Trajectory.from_feature(features["requested_poses"])
        if (unusable := _unusable(estimated, self.min_frames)) is not None:
            return unusable
        last = max(1, estimated.frame_count - 1)
        wanted = resampled(request.camera_to_world, estimated.frame_indices / last)
        pair = _Compared.of(estimated.camera_to_world, wanted, scene_unit(features["poses"]))
        error, still = error_and_still(pair.ours[:, :3, :3], pair.theirs[:, :3, :3])
        turns, moves = still >= self.min_yaw_degrees, pair.requested_extent >= MIN_MOVE
        if not turns and not moves:
            return Abstention(
                Reason.NOT_APPLICABLE,
                "the request stands still: whether the camera holds is measured by requested_camera_alignment.",
            )
        turned = max(0.0, 1 - error / still) if turns else math.exp(-error / self.rotation_scale_degrees)
        if moves:
            moved = max(0.0, 1 - pair.scaled_error(0.0))
        else:
            moved = math.exp(-pair.drift / self.translation_scale)
        return Score(turned * moved, raw=error, detail={**pair.facts(), "turned": turned, "moved": moved})


@dataclass(frozen=True, slots=True)
class RequestedCameraAlignment(MetricBase):
    """Whether the camera turns to the side that was asked for, and how far; or whether it holds; WRBench's CamAlign.

    (|peak| - `min_yaw_degrees`) / (|full peak| - `min_yaw_degrees`) between 0 and 1, and 0 where the peak is on the
    other side. With `full_at_request` the full peak is that of the requested path or, where there is none, the one that
    the case names; where neither is known, as of models that are only prompted, and without `full_at_request`, it is
    `full_yaw_degrees`. Coming back is not required. For a request that stands still the value is 1 - the larger of turn
    / `hold_degrees` and move / `hold_translation`, at least 0. The raw value is the peak in degrees, to the right if
    positive.

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
    full_at_request: Annotated[bool, "whether the peak of full score is the requested one, where it is known"] = True
    moves_in_depths: Annotated[bool, "whether moves are in median depths of the scene, or in the unit of the poses"] = (
        True
    )

    def __post_init__(self) -> None:
        if not 0 <= self.min_yaw_degrees < self.full_yaw_degrees:
            raise ValueError(
                f"a full turn is larger than the least one, found {self.full_yaw_degrees} and {self.min_yaw_degrees}."
            )

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action turns to a side, or stands still."""
        action = rollout.case.action or ""
        if _no_action(rollout) or _side(action) is not None:
            return _no_action(rollout)
        return Abstention(Reason.NOT_APPLICABLE, f"the action {action!r} neither turns left or right nor stands still.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        estimated = Trajectory.from_feature(features["poses"])
        if (unusable := _unusable(estimated, self.min_frames)) is not None:
            return unusable
        unit = scene_unit(features["poses"]) if self.moves_in_depths else 1.0
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
        if not self.full_at_request:
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

    def scaled_error(self, least: float) -> float:
        """What is left of the requested moves after one scale of ours was fitted, from 0 to 1; 0 if there are none.

        Moves of ours whose squares sum to `least` or less are not scaled.
        """
        ours, theirs = _moves(self.ours), _moves(self.theirs)
        own = float((ours * ours).sum())
        scale = max(float((theirs * ours).sum()) / own, 0.0) if own > least else 1.0
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


def _is_sideways(action: str) -> bool:
    return action.startswith(SIDEWAYS)


def _no_action(rollout: Rollout) -> Abstention | None:
    if rollout.case.action:
        return None
    return Abstention(Reason.MISSING_INPUT, "the case names no camera action.")


def _unusable(estimated: Trajectory, min_frames: int) -> Abstention | None:
    """Why poses cannot be scored, or `None`."""
    found = len(estimated.frame_indices)
    if found < max(2, min_frames):
        return Abstention(Reason.TOO_SHORT, f"{found} frames have a pose, at least {max(2, min_frames)} needed.")
    if not np.isfinite(estimated.camera_to_world).all():
        return Abstention(Reason.POSE_FAILED, "a camera pose is not finite: the pose estimator failed.")
    return None


def _check_positive(metric: MetricBase, names: Sequence[str]) -> None:
    for name in names:
        if getattr(metric, name) <= 0:
            raise ValueError(f"{name} is more than 0, found {getattr(metric, name)}.")


def _moves(poses: Floats) -> Floats:
    """[N, 3] from the first centre."""
    return np.asarray(poses[:, :3, 3] - poses[0, :3, 3])


def _peak(values: Floats) -> float:
    return float(values[np.abs(values).argmax()])


def _root_mean_square(vectors: Floats) -> float:
    return float(np.sqrt((vectors * vectors).sum(axis=1).mean()))
