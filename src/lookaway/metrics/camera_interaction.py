"""Whether the camera followed the action."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Trajectory, Unit
from lookaway.metrics.relative_pose import MOTIONS, WAITS, Motion, parse_action


@dataclass(frozen=True, slots=True)
class CameraInteraction(MetricBase):
    """Mean cosine between the camera's motion from frame to frame and the motion of the action.

    A motion is the translation and the axis-angle rotation between neighbouring posed frames, in the camera's own axes,
    each divided by its extent over the clip so that both have one scale. The phases of an action ("left, then right")
    divide the clip into equal parts; phases that wait are not scored. A step without motion counts as 0: a camera that
    stands still did not follow the action. The raw value is the mean cosine in [-1, 1], the value is max(0, raw).

    Abstains: `missing_input` without poses or without an action; `pose_failed` where the poses hold no valid camera;
    `pose_convention_ambiguous` where their convention is neither stated nor visible in the frames; `not_applicable` for
    an action that is unknown or without motion; `too_short` for fewer than `min_steps` scored steps.
    """

    name = "camera_interaction"
    raw_unit = "mean cosine"
    needs = ("poses",)

    negligible_turn_degrees: Annotated[float, "a clip that turns less than this does not turn"] = 0.1
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    still: Annotated[float, "a step below this part of the clip's extent is no motion"] = 1e-6
    min_steps: Annotated[int, "fewer scored steps than this say nothing"] = 4

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the case names an action that can be followed."""
        action = rollout.case.action
        if not action:
            return Abstention(Reason.MISSING_INPUT, "the case names no camera action.")
        phases = parse_action(action)
        if phases is None:
            known = ", ".join([*MOTIONS, *sorted(WAITS)])
            return Abstention(
                Reason.NOT_APPLICABLE, f"the action {action!r} is not known; known, joined by '_then_': {known}."
            )
        if not any(phases):
            return Abstention(Reason.NOT_APPLICABLE, f"the action {action!r} asks for no motion.")
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        phases = parse_action(rollout.case.action or "") or ()
        trajectory = Trajectory.from_feature(features["poses"])
        motions = self._motions(trajectory)
        middles = (
            (trajectory.frame_indices[:-1] + trajectory.frame_indices[1:]) / 2 / max(1, trajectory.frame_count - 1)
        )
        phase_of_step = np.minimum((middles * len(phases)).astype(int), len(phases) - 1)
        units: list[Unit] = []
        cosines: list[float] = []
        for number, wanted in enumerate(phases):
            if wanted is None:
                continue
            values = self._cosines(motions[phase_of_step == number], wanted)
            cosines += values
            if values:
                units.append(Unit(f"phase{number}", _score(values, steps=len(values))))
        if len(cosines) < self.min_steps:
            return Abstention(Reason.TOO_SHORT, f"{len(cosines)} scored steps, at least {self.min_steps} needed.")
        return _score(cosines, units=tuple(units), steps=len(cosines))

    def _motions(self, trajectory: Trajectory) -> Floats:
        """[N-1, 6] steps in the camera's own axes, translation and rotation each in units of their extent."""
        rotations, centres = trajectory.rotations, trajectory.relative_centres(self.negligible_extent)
        inverse = rotations[:-1].transpose(0, 2, 1)
        moves = np.einsum("nij,nj->ni", inverse, np.diff(centres, axis=0))
        turns = _axis_angles(inverse @ rotations[1:])
        extent = np.linalg.norm(_axis_angles(rotations[0].T @ rotations), axis=1).max()
        if math.degrees(extent) < self.negligible_turn_degrees:
            turns = np.zeros_like(turns)
        else:
            turns = turns / extent
        return np.concatenate([moves, turns], axis=1)

    def _cosines(self, motions: Floats, wanted: Motion) -> list[float]:
        lengths = np.linalg.norm(motions, axis=1)
        along = motions @ np.array(wanted)
        moving = lengths > self.still
        return [float(value) for value in np.where(moving, along / np.where(moving, lengths, 1), 0.0)]


def _score(cosines: list[float], *, steps: int, units: tuple[Unit, ...] = ()) -> Score:
    raw = math.fsum(cosines) / len(cosines)
    return Score(max(0.0, raw), raw=raw, units=units, detail={"steps": steps})


def _axis_angles(rotations: Floats) -> Floats:
    """[N, 3] rotation vectors in radians."""
    from scipy.spatial.transform import Rotation  # half the start-up time of the command line, if imported above

    return np.asarray(Rotation.from_matrix(rotations).as_rotvec())
