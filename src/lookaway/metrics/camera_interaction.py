"""Whether the camera followed the action, and where else it went."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    Indices,
    Json,
    MetricBase,
    Outcome,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
)
from lookaway.core.trajectory import EXTENT_AS_DEPTH
from lookaway.metrics.relative_pose import MOTIONS, WAITS, Motion, parse_action

TRANSLATION: Final = slice(0, 3)
ROTATION: Final = slice(3, 6)
"""Parts of a motion."""


@dataclass(frozen=True, slots=True)
class ActionMetric(MetricBase):
    """Compares the steps of the camera with the phases of an action."""

    needs = ("poses",)

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


@dataclass(frozen=True, slots=True)
class CameraInteraction(ActionMetric):
    """Mean cosine between the camera's motion from frame to frame and the motion of the action.

    A motion is the translation and the axis-angle rotation between neighbouring posed frames, in the camera's own axes,
    each divided by its extent over the clip so that both have one scale. Without `divides_by_extent` it is the twist
    [t_i+1 - t_i; w] of MBench's equation 16 as it is: centres in the unit of the poses and the axes of the first
    camera, rotations in radians. The phases of an action ("left, then right")
    divide the clip into equal parts; phases that wait are not scored. A step without motion counts as 0: a camera that
    stands still did not follow the action. The raw value is the mean cosine in [-1, 1], the value is max(0, raw).

    Abstains: `missing_input` without poses or without an action; `pose_failed` where the poses hold no valid camera;
    `pose_convention_ambiguous` where their convention is neither stated nor visible in the frames; `not_applicable` for
    an action that is unknown or without motion; `too_short` for fewer than `min_steps` scored steps.
    """

    name = "camera_interaction"
    raw_unit = "mean cosine"

    negligible_turn_degrees: Annotated[float, "a clip that turns less than this does not turn"] = 0.1
    negligible_extent: Annotated[float, "a path shorter than this part of the median depth is jitter, not motion"] = (
        0.02
    )
    still: Annotated[float, "a step below this is no motion: as a part of the clip's extent, else as it is"] = 1e-6
    min_steps: Annotated[int, "fewer scored steps than this say nothing"] = 4
    divides_by_extent: Annotated[
        bool, "whether translations and rotations are each divided by their extent over the clip, or taken as they are"
    ] = True

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        phases = parse_action(rollout.case.action or "") or ()
        trajectory = Trajectory.from_feature(features["poses"])
        motions, phase_of_step = self._motions(trajectory), _phases_of_steps(trajectory, len(phases))
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
        has_moves = bool(trajectory.relative_centres(self.negligible_extent).any())
        translations = "counted" if has_moves else "none, or jitter"
        return _score(cosines, units=tuple(units), steps=len(cosines), translations=translations)

    def _motions(self, trajectory: Trajectory) -> Floats:
        """[N-1, 6] translation and rotation of each step, in the units and axes that are asked for."""
        rotations = trajectory.rotations
        if not self.divides_by_extent:
            moves, turns = np.diff(trajectory.centres @ rotations[0], axis=0), _steps(trajectory, trajectory.centres)[1]
            return np.concatenate([moves, turns], axis=1)
        moves, turns = _steps(trajectory, trajectory.relative_centres(self.negligible_extent))
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


@dataclass(frozen=True, slots=True)
class PhaseMotions(ActionMetric):
    """Measures each phase by its steps in radians: rotations, and translations divided by the depth of the scene."""

    negligible_turn_degrees: Annotated[float, "a phase that turns less than this does not turn"] = 0.1
    negligible_extent: Annotated[
        float, "a phase that moves by less than this part of the median depth stands still"
    ] = 0.02
    min_steps: Annotated[int, "fewer scored steps than this say nothing"] = 4

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per phase that asks for a motion."""
        phases = tuple(self._phases(rollout, Trajectory.from_feature(features["poses"])))
        units = tuple(Unit(name, self.phase(motions, wanted)) for name, motions, wanted in phases)
        scores = [unit.outcome for unit in units if isinstance(unit.outcome, Score)]
        if units and not scores:
            message = "the camera stands still in every phase that asks for a motion."
            return Abstention(Reason.NOT_APPLICABLE, message, units)
        steps = sum(len(phases[place][1]) for place, unit in enumerate(units) if isinstance(unit.outcome, Score))
        if steps < self.min_steps:
            return Abstention(Reason.TOO_SHORT, f"{steps} scored steps, at least {self.min_steps} needed.")
        mean = math.fsum(score.value if score.raw is None else score.raw for score in scores) / len(scores)
        motion = " and ".join(sorted({str(score.detail["motion"]) for score in scores}))
        return self.score(mean, units=units, steps=steps, motion=motion)

    def _phases(self, rollout: Rollout, trajectory: Trajectory) -> Iterator[tuple[str, Floats, Floats]]:
        """Name, steps of the camera [S, 6] and requested motion [6] of every phase that asks for one."""
        phases = parse_action(rollout.case.action or "") or ()
        phase_of_step = _phases_of_steps(trajectory, len(phases))
        motions = np.concatenate(_steps(trajectory, trajectory.centres / np.median(trajectory.median_depth)), axis=1)
        for number, wanted in enumerate(phases):
            own = motions[phase_of_step == number]
            if wanted is not None and len(own):
                yield f"phase{number}", own, np.array(wanted, np.float64)

    def is_still(self, motion: Floats) -> bool:
        """Whether a motion, or a way of so many radians and depths, is too small to have a direction."""
        turn, move = np.linalg.norm(motion[..., ROTATION]), np.linalg.norm(motion[..., TRANSLATION])
        return bool(math.degrees(turn) < self.negligible_turn_degrees and move < self.negligible_extent)

    @abstractmethod
    def phase(self, motions: Floats, wanted: Floats) -> Score | Abstention:
        """Measure the steps [S, 6] of one phase."""

    @abstractmethod
    def score(self, mean: float, *, units: tuple[Unit, ...] = (), **detail: Json) -> Score:
        """The score of a phase or of a clip."""


@dataclass(frozen=True, slots=True)
class CameraFollowing(PhaseMotions):
    """How much of the camera's way leads where the action asks, turns and moves apart.

    Of a phase that asks for a turn only rotations count, of one that asks for a move only translations: the sum of the
    steps along the requested axis divided by the sum of their lengths. Noise in the centres of a camera that turns
    therefore cannot hide the turn; where else the camera went is `camera_leakage`. The raw value is the mean over
    phases in [-1, 1], the value is max(0, raw). A phase without motion of the requested kind counts as 0.

    Abstains: `missing_input` without poses or without an action; `pose_failed` where the poses hold no valid camera;
    `pose_convention_ambiguous` where their convention is neither stated nor visible in the frames; `not_applicable` for
    an action that is unknown or without motion; `too_short` for fewer than `min_steps` scored steps.
    """

    name = "camera_following"
    raw_unit = "share of the way"

    def phase(self, motions: Floats, wanted: Floats) -> Score | Abstention:
        """Measure the steps [S, 6] of one phase."""
        part = TRANSLATION if wanted[TRANSLATION].any() else ROTATION
        way = float(np.linalg.norm(motions[:, part], axis=1).sum())
        along = float((motions[:, part] @ wanted[part]).sum())
        least = self.negligible_extent if part == TRANSLATION else math.radians(self.negligible_turn_degrees)
        motion = "move" if part == TRANSLATION else "turn"
        return self.score(along / way if way >= least else 0.0, steps=len(motions), motion=motion, way=way)

    def score(self, mean: float, *, units: tuple[Unit, ...] = (), **detail: Json) -> Score:
        """The score of a phase or of a clip."""
        return Score(max(0.0, mean), raw=mean, units=units, detail=detail)


@dataclass(frozen=True, slots=True)
class CameraLeakage(PhaseMotions):
    """How much of the camera's motion in a phase is not along the axis that the action asks for.

    The motion of a phase is the sum of its steps in the camera's own axes: rotations in radians, translations divided
    by the median depth, so that both count by what they do to the picture. The value of a phase is the length of the
    part across the requested axis, divided by the whole length: 0 where the camera does nothing else, 1 where it does
    not do it at all. Which way along the axis it went is measured by `camera_following`. The value is the mean over
    phases; phases without any motion are left out and listed.

    Abstains: `missing_input` without poses, without an action, or where poses come without the depth of the scene;
    `pose_failed` where the poses hold no valid camera; `pose_convention_ambiguous` where their convention is neither
    stated nor visible in the frames; `not_applicable` for an action that is unknown or without motion, and where the
    camera stands still; `too_short` for fewer than `min_steps` scored steps.
    """

    name = "camera_leakage"
    unit = "share"
    higher_is_better = False

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout, if its translations have a scale."""
        if features["poses"].detail.get("median_depth") == EXTENT_AS_DEPTH:
            return Abstention(
                Reason.MISSING_INPUT,
                "the poses come without the depth of the scene, so a move cannot be compared with a turn. "
                "Supply depth, or set `assumed_depth`.",
            )
        return PhaseMotions.measure(self, rollout, features)

    def phase(self, motions: Floats, wanted: Floats) -> Score | Abstention:
        """Measure the steps [S, 6] of one phase."""
        whole = motions.sum(axis=0)
        if self.is_still(whole):
            return Abstention(Reason.NOT_APPLICABLE, "the camera stands still.")
        across = whole - (whole @ wanted) * wanted
        motion = "move" if wanted[TRANSLATION].any() else "turn"
        return self.score(float(np.linalg.norm(across) / np.linalg.norm(whole)), steps=len(motions), motion=motion)

    def score(self, mean: float, *, units: tuple[Unit, ...] = (), **detail: Json) -> Score:
        """The score of a phase or of a clip."""
        return Score(min(1.0, mean), units=units, detail=detail)


def _phases_of_steps(trajectory: Trajectory, phases: int) -> Indices:
    """[N-1] the phase of each step's middle; phases share the clip in equal parts."""
    middles = (trajectory.frame_indices[:-1] + trajectory.frame_indices[1:]) / 2 / max(1, trajectory.frame_count - 1)
    return np.minimum((middles * phases).astype(np.int64), phases - 1)


def _steps(trajectory: Trajectory, centres: Floats) -> tuple[Floats, Floats]:
    """[N-1, 3] translations between given centres and rotation vectors, in the camera's own axes."""
    rotations = trajectory.rotations
    inverse = rotations[:-1].transpose(0, 2, 1)
    return np.einsum("nij,nj->ni", inverse, np.diff(centres, axis=0)), _axis_angles(inverse @ rotations[1:])


def _score(cosines: list[float], *, units: tuple[Unit, ...] = (), **detail: Json) -> Score:
    raw = math.fsum(cosines) / len(cosines)
    return Score(max(0.0, raw), raw=raw, units=units, detail=detail)


def _axis_angles(rotations: Floats) -> Floats:
    """[N, 3] rotation vectors in radians."""
    from scipy.spatial.transform import Rotation  # half the start-up time of the command line, if imported above

    return np.asarray(Rotation.from_matrix(rotations).as_rotvec())
