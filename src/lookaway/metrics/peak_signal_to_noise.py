"""How far the pixels of a video are from those they are compared with, on the scale of engineers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class PeakSignalToNoise:
    """Mean over compared frames of PSNR, 10 log10(1 / MSE), in decibels.

    MSE is the mean squared difference of a frame's pixels, with channels from 0 to 1. Equal frames have no finite PSNR:
    every frame above `ceiling_db` counts as `ceiling_db`, and `detail.frames_cut` says how many those are. There is no
    raw value.

    Abstains: `missing_input` without a true video to compare with; `too_short` where no frame has a partner;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video where one cannot be read.
    """

    name: ClassVar[str] = "peak_signal_to_noise"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "dB"
    raw_unit: ClassVar[str | None] = None
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("fidelity",)
    uses: ClassVar[tuple[str, ...]] = ()

    ceiling_db: Annotated[float, "the most that a frame counts, in decibels"] = 100.0

    def __post_init__(self) -> None:
        if self.ceiling_db <= 0:
            raise ValueError(f"a ceiling is above 0 decibels, found {self.ceiling_db}.")

    @property
    def range(self) -> tuple[float | None, float | None]:
        """From black against white to the ceiling."""
        return 0.0, self.ceiling_db

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        mse = np.asarray(features["fidelity"]["mse"], np.float64)
        least = 10 ** (-self.ceiling_db / 10)
        is_cut = mse < least
        decibels = np.where(is_cut, self.ceiling_db, -10 * np.log10(np.maximum(mse, least)))
        return score_of_frames(features["fidelity"], decibels, detail={"frames_cut": int(is_cut.sum())})
