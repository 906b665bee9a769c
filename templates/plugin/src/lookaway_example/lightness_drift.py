"""Whether a clip gets lighter or darker from its beginning to its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Features, Outcome, Reason, Rollout, Score


@dataclass(frozen=True, slots=True)
class LightnessDrift:
    """Difference of lightness between the two ends of a clip, mapped by exp(-difference / scale).

    The raw value is the absolute difference of the mean L* of the first and the last `frames` frames, L* from 0 to 100.

    Abstains: `too_short` for fewer than two times `frames` frames.
    """

    name: ClassVar[str] = "lightness_drift"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "L*"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("lab_means",)
    uses: ClassVar[tuple[str, ...]] = ()

    scale: Annotated[float, "difference of L* at which the score is 1/e"] = 10.0
    frames: Annotated[int, "frames at each end"] = 4

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its feature is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        lightness = features["lab_means"]["lab"][:, 0]
        if len(lightness) < 2 * self.frames:
            return Abstention(Reason.TOO_SHORT, f"{len(lightness)} frames, at least {2 * self.frames} needed.")
        difference = abs(float(lightness[-self.frames :].mean() - lightness[: self.frames].mean()))
        return Score(math.exp(-difference / self.scale), raw=difference)
