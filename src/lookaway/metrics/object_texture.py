"""Whether an object keeps its texture."""

from __future__ import annotations

from dataclasses import dataclass

from lookaway.core import Features, Outcome, Rollout
from lookaway.metrics.track_similarity import TrackConsistency


@dataclass(frozen=True, slots=True)
class ObjectTexture(TrackConsistency):
    """Consistency of the target: the mean cosine of its masked embeddings with their mean.

    The target is one track, even if it leaves the view in between. The raw value is the mean before it is clipped to 0
    and 1.

    Abstains: `no_target` where no mask is large enough; `too_short` where there is only one, unless
    `counts_single_sights`; a reason of the video or
    of the weights where there are no embeddings.
    """

    name = "object_texture"
    raw_unit = "cosine"
    needs = ("regions",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        regions = features["regions"]
        track = list(range(len(regions["vectors"])))
        return self.consistency(regions["vectors"], regions["frame_indices"], [track] if track else [], "sight of it")
