"""How alike the structure of a video is to that of what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.frame_series import score_of_frames


@dataclass(frozen=True, slots=True)
class StructuralSimilarity:
    """Mean over compared frames of SSIM, the structural similarity of Wang et al. (2004).

    Around every pixel and in every channel, means, variances and covariance under a gaussian window give
    (2 m1 m2 + c1) (2 cov + c2) / ((m1^2 + m2^2 + c1) (v1 + v2 + c2)) with c1 = 0.01^2 and c2 = 0.03^2 for channels from
    0 to 1; a frame has the mean over all of them. 1 where frames are equal, about 0 where they share nothing, below 0
    where one is the negative of the other. There is no raw value.

    Abstains: `missing_input` without a true video to compare with; `too_short` where no frame has a partner;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video where one cannot be read.
    """

    name: ClassVar[str] = "structural_similarity"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "similarity"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("fidelity",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["fidelity"], features["fidelity"]["ssim"])
