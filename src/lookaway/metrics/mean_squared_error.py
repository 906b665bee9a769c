"""How far the pixels of a video are from those they are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class MeanSquaredError:
    """Mean over compared frames of the mean squared difference of their pixels.

    Channels go from 0 to 1, and the mean of a frame is over all pixels and the channels red, green and blue: 0 where
    frames are equal, 1 between black and white. There is no raw value. A shift of the picture by a few pixels costs
    about as much as another picture.

    Abstains: `missing_input` without a true video to compare with; `too_short` where no frame has a partner;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video where one cannot be read.
    """

    name: ClassVar[str] = "mean_squared_error"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "squared difference"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("fidelity",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["fidelity"], features["fidelity"]["mse"])
