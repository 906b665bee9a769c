"""How far each step of the camera is from the true step, as a length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Floats
from lookaway.metrics.relative_pose import RelativePoseError, StepErrors


@dataclass(frozen=True, slots=True)
class RelativeTranslationError(RelativePoseError):
    """Mean length of the relative pose error between neighbouring frames, after the path is fitted to the true one.

    With poses P of the answer and Q of the reference, E = (Q_i^-1 Q_i+1)^-1 (P_i^-1 P_i+1), and the error of a step is
    the length of E's translation, in the unit of the reference's poses. Of the fitted similarity only the scale can
    change it: a camera that stands still is fitted with scale 0, and its error is the length of the true steps, no
    more; where the reference stands still, scale 0 hides every motion of the answer, and only `se3` or `none` show it.
    Steps from a frame to the next count where both cameras have poses of both. Groups in the detail follow the case's
    controls.

    Abstains: `missing_input` without poses, or where fewer than `fewest_steps` steps have them; `too_short` where
    fewer steps are to be compared, or are left without outliers; `pose_failed` where poses hold no valid camera.
    """

    name: ClassVar[str] = "relative_translation_error"
    unit: ClassVar[str] = "unit of the reference's poses"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)

    def errors(self, steps: StepErrors) -> Floats:
        """[steps] lengths."""
        return steps.translations
