"""How good the frames of a video are as photographs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class ImagingQuality:
    """Mean over frames of the image quality that a network gives each, divided by 100.

    Noise, blur and blocks lower it, whatever the picture shows. The raw value is the mean on the scale of the weights,
    on which people gave 0 to 100; nothing is cut where the network leaves it.

    Abstains: `too_short` where no frame was looked at; a reason of the video or of the weights where there is no
    quality.
    """

    name: ClassVar[str] = "imaging_quality"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "quality, 0 to 100"
    range: ClassVar[tuple[float | None, float | None]] = (None, None)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("quality",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["quality"], features["quality"]["quality"], full_scale=100.0)
