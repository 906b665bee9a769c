"""Whether a clip gets lighter or darker from its beginning to its end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from lookaway.core import Abstention, Features, MetricBase, Outcome, Reason, Rollout, Score


@dataclass(frozen=True, slots=True)
class LightnessDrift(MetricBase):
    """Difference of lightness between the two ends of a clip, mapped by exp(-difference / scale).

    The raw value is the absolute difference of the mean L* of the first and the last `frames` frames, L* from 0 to 100.

    Abstains: `too_short` for fewer than two times `frames` frames.
    """

    name = "lightness_drift"
    raw_unit = "L*"
    needs = ("lab_means",)

    scale: Annotated[float, "difference of L* at which the score is 1/e"] = 10.0
    frames: Annotated[int, "frames at each end"] = 4

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        lightness = features["lab_means"]["lab"][:, 0]
        if len(lightness) < 2 * self.frames:
            return Abstention(Reason.TOO_SHORT, f"{len(lightness)} frames, at least {2 * self.frames} needed.")
        difference = abs(float(lightness[-self.frames :].mean() - lightness[: self.frames].mean()))
        return Score(math.exp(-difference / self.scale), raw=difference)
