"""Whether people keep their faces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lookaway.core import Features, Outcome, Rollout
from lookaway.metrics.track_similarity import TrackConsistency, greedy_tracks


@dataclass(frozen=True, slots=True)
class HumanIdentity(TrackConsistency):
    """Consistency of every face: the mean cosine of its embeddings with their mean, averaged over people.

    Faces of the sampled frames are joined into tracks from frame to frame, greedily by similarity: the higher of the
    cosines with the track's last embedding and with the mean of all its embeddings. A face that reaches `min_cosine`
    with no track starts one. Faces that are seen once say nothing about memory; they are left out and listed, unless
    `counts_single_sights`. The raw value is the mean before it is clipped to 0 and 1.

    Abstains: `no_target` where no face is found; `too_short` where no face is found twice; a reason of the video or of
    the weights where there are no embeddings.
    """

    name = "human_identity"
    raw_unit = "cosine"
    needs = ("faces",)

    min_cosine: Annotated[float, "least cosine with a track at which a face continues it"] = 0.15

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        faces = features["faces"]
        vectors, frames = faces["embeddings"], faces["frame_indices"]
        tracks = greedy_tracks(vectors, frames, min_cosine=self.min_cosine, weighs_alike=self.weighs_alike)
        return self.consistency(vectors, frames, tracks, "face")
