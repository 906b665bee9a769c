"""Whether a thing keeps its surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout
from lookaway.metrics.track_similarity import track_similarity


@dataclass(frozen=True, slots=True)
class ObjectTexture:
    """How like itself the target stays: the mean cosine of what its masks show with their mean.

    The target is one track, whatever leaves the view in between. The raw value is the mean before it is cut to 0 and 1.

    Abstains: `no_target` where no mask is large enough; `too_short` where there is only one; a reason of the video or
    of the weights where there are no embeddings.
    """

    name: ClassVar[str] = "object_texture"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "cosine"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("regions",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        regions = features["regions"]
        track = list(range(len(regions["vectors"])))
        return track_similarity(regions["vectors"], regions["frame_indices"], [track] if track else [], "sight of it")
