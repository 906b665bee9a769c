"""How beautiful people would find the frames of a video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class AestheticQuality:
    """Mean over frames of the aesthetic score that a network gives each, divided by 10.

    The raw value is the mean on the head's own scale, on which people gave 0 to 10; nothing is cut where the head
    leaves it.

    Abstains: `too_short` where no frame was looked at; a reason of the video or of the weights where there is no score.
    """

    name: ClassVar[str] = "aesthetic_quality"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "aesthetic score, 0 to 10"
    range: ClassVar[tuple[float | None, float | None]] = (None, None)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("aesthetic",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["aesthetic"], features["aesthetic"]["aesthetic"], full_scale=10.0)
