"""How far each step of the camera is from the true step, as an angle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Floats
from lookaway.metrics.relative_pose import RelativePoseError, StepErrors


@dataclass(frozen=True, slots=True)
class RelativeRotationError(RelativePoseError):
    """Mean angle of the relative pose error between neighbouring frames.

    With poses P of the answer and Q of the reference, E = (Q_i^-1 Q_i+1)^-1 (P_i^-1 P_i+1), and the error of a step is
    the angle of E's rotation. No alignment changes it. A camera that never turns has the angles of the true steps as
    its errors, no more. Steps from a frame to the next count where both cameras have poses of both. Groups in the
    detail follow the case's controls.

    Abstains: `missing_input` without poses, or where fewer than `fewest_steps` steps have them; `too_short` where
    fewer steps are to be compared, or are left without outliers; `pose_failed` where poses hold no valid camera.
    """

    name: ClassVar[str] = "relative_rotation_error"
    unit: ClassVar[str] = "degrees"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 180.0)

    def errors(self, steps: StepErrors) -> Floats:
        """[steps] angles."""
        return steps.degrees
