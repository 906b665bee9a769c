"""How far what a network sees in a video is from what it sees where it is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class FeatureError:
    """Mean over compared frames of the mean squared difference of patch tokens.

    Tokens have unit length, and the mean of a frame is over patches and channels: 0 where frames are equal,
    2 / channels where tokens have nothing in common, and at most 4 / channels. There is no raw value.

    Abstains: `missing_input` without a true video to compare with; `too_short` where no frame has a partner;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video or of the weights where there are
    no tokens.
    """

    name: ClassVar[str] = "feature_error"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "squared difference"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("feature_error",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["feature_error"], features["feature_error"]["errors"])
