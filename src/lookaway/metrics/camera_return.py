"""How well the camera reached what was requested, came back, and kept going without a cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

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
    angles_degrees,
    project_points,
)


@dataclass(frozen=True, slots=True)
class ReturnError(MetricBase):
    """Degrees between the last view and the requested last view, each relative to the first.

    Abstains: `missing_input` where no path was requested; `pose_failed` where the camera could not be tracked.
    """

    name = "return_error"
    unit = "degrees"
    range = (0.0, 180.0)
    higher_is_better = False
    needs = ("poses", "commanded_poses")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        done, requested = _both_turns(features)
        errors = angles_degrees(done, requested)
        return Score(float(errors[-1]), detail={"largest_error": float(errors.max())})


@dataclass(frozen=True, slots=True)
class ReachMissing(MetricBase):
    """Per cent of the requested angle that the camera did not turn; 0 where it turned as far or farther.

    Abstains: `missing_input` where no path was requested; `not_applicable` where the requested path hardly turns;
    `pose_failed` where the camera could not be tracked.
    """

    name = "reach_missing"
    unit = "%"
    range = (0.0, 100.0)
    higher_is_better = False
    needs = ("poses", "commanded_poses")

    min_requested: Annotated[float, "degrees that the request must turn"] = 5.0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        done, requested = (float(_turned(turns).max()) for turns in _both_turns(features))
        if requested < self.min_requested:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"the requested path turns {requested:.1f} degrees, expected {self.min_requested:g}.",
            )
        missing = max(0.0, 100 * (1 - done / requested))
        return Score(missing, detail={"requested_degrees": requested, "turned_degrees": done})


@dataclass(frozen=True, slots=True)
class DeliveryLoss(MetricBase):
    """Degrees of the request that the model's controls cannot express: at the farthest view or at the end.

    It says nothing about the video. Where it is large, the model was asked something else.

    Abstains: `missing_input` where the path that was requested, or the one that was delivered, is not known.
    """

    name = "delivery_loss"
    unit = "degrees"
    range = (0.0, 180.0)
    higher_is_better = False
    needs = ("delivered_poses",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        detail = features["delivered_poses"].detail
        lost = {name: detail[name] for name in ("peak_lost_degrees", "end_lost_degrees") if name in detail}
        if not lost:
            return Abstention(Reason.MISSING_INPUT, "the record names no camera path that was requested.")
        return Score(max(float(str(degrees)) for degrees in lost.values()), detail=lost)


@dataclass(frozen=True, slots=True)
class CameraCut(MetricBase):
    """The largest step of the picture from frame to frame, divided by the second largest: 1 is steady.

    A step is the median way of a point of the view, by the poses. A video that skips a part of its path jumps once.

    Abstains: `too_short` for fewer than `min_steps` steps; `not_applicable` where the picture hardly moves;
    `pose_failed` where the camera could not be tracked.
    """

    name = "cut"
    unit = "ratio"
    range = (1.0, None)
    higher_is_better = False
    needs = ("poses",)

    min_steps: Annotated[int, "fewer steps than this show no rhythm"] = 4
    min_step: Annotated[float, "part of the width that the largest step must be"] = 0.01

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        trajectory = Trajectory.from_feature(features["poses"])
        steps = _picture_steps(trajectory)
        if len(steps) < self.min_steps:
            return Abstention(Reason.TOO_SHORT, f"{len(steps)} steps between frames, expected {self.min_steps}.")
        second, largest = np.sort(steps)[-2:].tolist()
        if largest < self.min_step:
            return Abstention(
                Reason.NOT_APPLICABLE,
                f"the picture moves by at most {largest:.2%} of its width from frame to frame, expected "
                f"{self.min_step:.0%}.",
            )
        at = int(trajectory.frame_indices[int(np.argmax(steps)) + 1])
        return Score(largest / max(second, 1e-9), detail={"frame": at, "largest_step": largest})


def _both_turns(features: Features) -> tuple[Floats, Floats]:
    """[N, 3, 3] turns since the first posed frame: those of the video, and those requested."""
    trajectory, request = (Trajectory.from_feature(features[name]) for name in ("poses", "commanded_poses"))
    places = np.searchsorted(request.frame_indices, trajectory.frame_indices).clip(max=len(request.frame_indices) - 1)
    done, requested = trajectory.rotations, request.rotations[places]
    return done[0].T @ done, requested[0].T @ requested


def _turned(turns: Floats) -> Floats:
    return angles_degrees(turns, np.eye(3))


def _picture_steps(trajectory: Trajectory) -> Floats:
    """[N - 1] median way of a point from frame to frame, in widths, for each frame of the video between."""
    size = np.array([trajectory.width, trajectory.height])
    x, y = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(6) + 0.5) / 6)
    points = np.stack([x.ravel(), y.ravel()], axis=1) * size
    far = 3.0 * trajectory.width
    steps = []
    for frame in range(len(trajectory.frame_indices) - 1):
        seen = project_points(trajectory, points, frame, np.array([frame + 1]))[0]
        ways = np.linalg.norm(np.where(np.isfinite(seen), seen, far) - points, axis=1)
        steps.append(float(np.median(np.minimum(ways, far))) / trajectory.width)
    return np.asarray(steps / np.maximum(np.diff(trajectory.frame_indices), 1))
