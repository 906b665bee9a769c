"""Relative pose errors: how far each step of a camera is from the true step."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

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
    UnknownName,
    UserError,
)
from lookaway.metrics.pose_alignment import ALIGNMENT, Alignment, align

MOVES: Final = frozenset({"forward", "backward", "left", "right"})
TURNS: Final = ("look_", "cam_", "yaw_", "pitch_")
PUBLISHED_KINDS: Final = {
    **dict.fromkeys((*"wasd", *MOVES), "translation"),
    **dict.fromkeys(("cam_left", "cam_right", "cam_up", "cam_down"), "rotation"),
    **dict.fromkeys(("yaw_left", "yaw_right", "pitch_up", "pitch_down"), "rotation"),
}
"""The names that MIND's own code knows, which are not those it gives to turns."""
OUTLIER: Final = Abstention(Reason.POSE_FAILED, "the step is so far from the true one that its estimate has failed.")


@dataclass(frozen=True, slots=True)
class StepErrors:
    """The error of each estimated step from a frame to the next."""

    translations: Floats
    """[steps] lengths in the unit of the true poses."""
    degrees: Floats
    """[steps] angles from 0 to 180."""

    @classmethod
    def of(cls, estimated: Floats, true: Floats) -> StepErrors:
        """From [N, 4, 4] camera-to-world matrices P and Q: E = (Q_i^-1 Q_i+1)^-1 (P_i^-1 P_i+1) for every step."""
        errors = _between(_between(true[:-1], true[1:]), _between(estimated[:-1], estimated[1:]))
        return cls(np.linalg.norm(errors[:, :3, 3], axis=1), turned_degrees(errors[:, :3, :3]))

    def at(self, steps: Indices) -> StepErrors:
        """The errors of some steps."""
        return StepErrors(self.translations[steps], self.degrees[steps])


@dataclass(frozen=True, slots=True)
class RelativePoseError(MetricBase):
    """Mean over all steps, from a frame to the next, of the error of the estimated step."""

    higher_is_better = False
    needs = ("poses", "reference_poses")
    constants = ALIGNMENT

    alignment: Annotated[Alignment, "what is fitted before paths are compared: `sim3`, `se3` (no scale) or `none`"] = (
        "sim3"
    )
    max_frames: Annotated[int | None, "frames that are compared, from the first on; all where it is `None`"] = 97
    max_rotation_degrees: Annotated[float, "a step that is off by a larger angle is left out as a failed estimate"] = (
        179.0
    )
    max_translation: Annotated[float, "a step that is off by a larger length is left out as a failed estimate"] = 1e9
    min_steps: Annotated[int, "fewer steps than this say nothing"] = 8
    published_groups: Annotated[
        bool, "whether look_* and diagonals belong to the group `other`, as in MIND's own code"
    ] = False
    needs_whole_reference: Annotated[
        bool,
        "abstains where a frame of the reference has no pose; MIND's own code estimates all of them again there, and "
        "overwrites the file",
    ] = False

    def __post_init__(self) -> None:
        if self.alignment not in get_args(Alignment):
            raise UnknownName("alignment", self.alignment, get_args(Alignment))
        if self.min_steps < 1:
            raise UserError(f"A mean needs at least 1 step, found min_steps={self.min_steps}.")
        if self.max_frames is not None and self.max_frames < 2:
            raise UserError(f"A step needs 2 frames, found max_frames={self.max_frames}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per step."""
        estimated, true = (Trajectory.from_feature(features[name]) for name in self.needs)
        controls = rollout.case.controls
        if self.needs_whole_reference and (missing := self._frames_missing(true)):
            return Abstention(
                Reason.MISSING_INPUT,
                f"{missing} of the first {self._window(true)} frames of the reference video have no pose. MIND's own "
                "code runs ViPE on it then, and writes the file anew. Do the same, or measure the corrected metric.",
            )
        asked = self._steps_asked(estimated, true, controls)
        if asked < self.min_steps:
            note = " What is steered is stated for no more." if controls is not None and len(controls) == asked else ""
            return Abstention(Reason.TOO_SHORT, f"{asked} steps to compare, at least {self.min_steps} needed.{note}")
        frames, in_estimated, in_true = np.intersect1d(
            estimated.frame_indices, true.frame_indices, assume_unique=True, return_indices=True
        )
        window = frames <= asked
        frames, ours, theirs = frames[window], in_estimated[window], in_true[window]
        steps = np.flatnonzero(np.diff(frames) == 1)
        if len(steps) < self.min_steps:
            return Abstention(
                Reason.MISSING_INPUT,
                f"{len(steps)} of {asked} steps have poses of both cameras at both ends, at least {self.min_steps} "
                "needed. Estimate the poses of every frame.",
            )
        similarity = align(estimated.centres[ours], true.centres[theirs], self.alignment)
        every = StepErrors.of(similarity.moved(estimated.camera_to_world[ours]), true.camera_to_world[theirs])
        detail = {
            "scale": similarity.scale,
            "alignment": self.alignment,
            "steps": asked,
            "video_frames": estimated.frame_count,
        }
        return self._outcome(frames[steps], every.at(steps), controls, detail)

    def errors(self, steps: StepErrors) -> Floats:
        """[steps] the part of the errors that is measured."""
        raise NotImplementedError

    def _window(self, true: Trajectory) -> int:
        return true.frame_count if self.max_frames is None else min(self.max_frames, true.frame_count)

    def _frames_missing(self, true: Trajectory) -> int:
        window = self._window(true)
        return window - int((true.frame_indices < window).sum())

    def _steps_asked(self, estimated: Trajectory, true: Trajectory, controls: Sequence[str] | None) -> int:
        counts = [estimated.frame_count - 1, true.frame_count - 1]
        if controls is not None:
            counts.append(len(controls))
        if self.max_frames is not None:
            counts.append(self.max_frames - 1)
        return min(counts)

    def _outcome(
        self, frames: Indices, steps: StepErrors, controls: Sequence[str] | None, detail: dict[str, Json]
    ) -> Outcome:
        units = tuple(self._units(frames, steps))
        kept = self._are_kept(steps)
        if kept.sum() < self.min_steps:
            return Abstention(
                Reason.TOO_SHORT,
                f"{kept.sum()} of {len(kept)} steps are within {self.max_rotation_degrees:g} degrees and "
                f"{self.max_translation:g} of the true ones, at least {self.min_steps} needed.",
                units,
            )
        values = self.errors(steps)[kept]
        labels = [controls[frame] for frame in frames[kept].tolist()] if controls is not None else []
        whole = _summary(values)
        groups = _groups(values, labels, published_kind if self.published_groups else kind_of_control) if labels else {}
        detail |= {"median": whole["median"], "count": whole["count"], "groups": {"__overall__": whole, **groups}}
        return Score(whole["mean"], units=units, detail=detail)

    def _are_kept(self, steps: StepErrors) -> NDArray[np.bool_]:
        return np.asarray((steps.degrees <= self.max_rotation_degrees) & (steps.translations <= self.max_translation))

    def _units(self, frames: Indices, steps: StepErrors) -> Iterator[Unit]:
        for frame, value, is_kept in zip(frames, self.errors(steps), self._are_kept(steps), strict=True):
            yield Unit(f"f{frame}", Score(float(value)) if is_kept else OUTLIER)


def turned_degrees(rotations: Floats) -> Floats:
    """[N] angles of rotations [N, 3, 3], accurate near 0 and 180 degrees too.

    The trace gives the cosine alone, which loses half of the digits there; the skew part gives the sine.
    """
    skew = rotations - rotations.transpose(0, 2, 1)
    sines = np.linalg.norm(skew[:, [2, 0, 1], [1, 2, 0]], axis=1)
    return np.asarray(np.degrees(np.arctan2(sines, np.trace(rotations, axis1=1, axis2=2) - 1)))


def kind_of_control(control: str) -> str:
    """`translation` or `rotation` where every part of a control is of that kind; else `other`."""
    parts = control.split("+")
    if all(part in MOVES for part in parts):
        return "translation"
    return "rotation" if all(part.startswith(TURNS) for part in parts) else "other"


def published_kind(control: str) -> str:
    """The kind of a control in MIND's own code."""
    return PUBLISHED_KINDS.get(control.lower(), "other")


def _between(first: Floats, second: Floats) -> Floats:
    """[N, 4, 4] the motions that lead from the first poses to the second, in the axes of the first."""
    backwards = first[:, :3, :3].transpose(0, 2, 1)
    motions = np.tile(np.eye(4), (len(first), 1, 1))
    motions[:, :3, :3] = backwards @ second[:, :3, :3]
    motions[:, :3, 3] = np.einsum("nij,nj->ni", backwards, second[:, :3, 3] - first[:, :3, 3])
    return motions


def _groups(values: Floats, labels: Sequence[str], kind: Callable[[str], str]) -> dict[str, Json]:
    """Steps by the kind of their control, and by the control itself."""
    members: dict[str, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        for name in (kind(label), f"act:{label}"):
            members.setdefault(name, []).append(float(value))
    return {name: _summary(numbers) for name, numbers in members.items()}


def _summary(values: Floats | Sequence[float]) -> dict[str, Json]:
    return {"count": len(values), "mean": math.fsum(values) / len(values), "median": float(np.median(values))}


@dataclass(frozen=True, slots=True)
class RelativeRotationError(RelativePoseError):
    """Mean angle of the relative pose error between neighbouring frames.

    With poses P of the generated and Q of the reference video, E = (Q_i^-1 Q_i+1)^-1 (P_i^-1 P_i+1), and the error of
    a step is the angle of E's rotation. No alignment changes it. A camera that never turns has the angles of the true
    steps as its errors. Steps count where both cameras have poses at both ends. Groups in the detail follow the case's
    controls.

    Abstains: `missing_input` without poses, where fewer than `min_steps` steps have them, or where
    `needs_whole_reference` is set and the reference lacks one; `too_short` where fewer steps are to be compared, or are
    left without outliers; `pose_failed` where poses hold no valid camera.
    """

    name = "relative_rotation_error"
    unit = "degrees"
    range = (0.0, 180.0)

    def errors(self, steps: StepErrors) -> Floats:
        """[steps] angles."""
        return steps.degrees


@dataclass(frozen=True, slots=True)
class RelativeTranslationError(RelativePoseError):
    """Mean length of the relative pose error between neighbouring frames, after the path is fitted to the true one.

    With poses P of the generated and Q of the reference video, E = (Q_i^-1 Q_i+1)^-1 (P_i^-1 P_i+1), and the error of
    a step is the length of E's translation, in the unit of the reference's poses. Of the fitted similarity only the
    scale can change it: a camera that stands still is fitted with scale 0, and its error is the length of the true
    steps; where the reference stands still, scale 0 hides every motion of the generated video, and only `se3` or `none`
    show it. Steps count where both cameras have poses at both ends. Groups in the detail follow the case's controls.

    Abstains: `missing_input` without poses, where fewer than `min_steps` steps have them, or where
    `needs_whole_reference` is set and the reference lacks one; `too_short` where fewer steps are to be compared, or are
    left without outliers; `pose_failed` where poses hold no valid camera.
    """

    name = "relative_translation_error"
    unit = "unit of the reference's poses"
    range = (0.0, None)

    def errors(self, steps: StepErrors) -> Floats:
        """[steps] lengths."""
        return steps.translations


Motion: TypeAlias = tuple[float, float, float, float, float, float]
"""Translation x, y, z and rotation about x, y, z of the camera's own axes: x right, y down, z forward."""

# Left and right turn the camera, they do not move it sideways: that is the benchmarks' own meaning.
MOTIONS: Final[dict[str, Motion]] = {
    "forward": (0, 0, 1, 0, 0, 0),
    "backward": (0, 0, -1, 0, 0, 0),
    "left": (0, 0, 0, 0, -1, 0),
    "right": (0, 0, 0, 0, 1, 0),
    "up": (0, 0, 0, 1, 0, 0),
    "down": (0, 0, 0, -1, 0, 0),
}
WAITS: Final = frozenset({"static", "wait", "hold", "stay"})


def parse_action(action: str) -> tuple[Motion | None, ...] | None:
    """The phases of an action, `None` for a phase that waits; `None` for an action that is not known.

    >>> parse_action("left_then_wait_then_right")
    ((0, 0, 0, 0, -1, 0), None, (0, 0, 0, 0, 1, 0))
    >>> parse_action("left_360")
    ((0, 0, 0, 0, -1, 0),)
    >>> parse_action("moonwalk") is None
    True
    """
    phases: list[Motion | None] = []
    for phase in action.lower().split("_then_"):
        word = re.sub(r"_\d+$", "", phase)
        if word not in MOTIONS and word not in WAITS:
            return None
        phases.append(MOTIONS.get(word))
    return tuple(phases)
