"""How different a video looks from what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class PerceptualDistance:
    """Mean over compared frames of LPIPS, the learned perceptual distance of Zhang et al. (2018).

    The distance of two frames is the squared difference of what a network sees at the same place, of unit length,
    weighted by channel as people judged and summed over layers: 0 where frames are equal, about 0.7 where they share
    nothing. There is no raw value.

    Abstains: `missing_input` without a true video to compare with; `too_short` where no frame has a partner;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video or of the weights where there are
    no distances.
    """

    name: ClassVar[str] = "perceptual_distance"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "distance"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("lpips",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["lpips"], features["lpips"]["distances"])
