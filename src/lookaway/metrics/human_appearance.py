"""Whether people keep their looks: clothes, hair, build."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Feature, Features, Outcome, Rollout
from lookaway.metrics.track_similarity import TrackConsistency, greedy_tracks


@dataclass(frozen=True, slots=True)
class HumanAppearance(TrackConsistency):
    """Consistency of every body: the mean cosine of its masked embeddings with their mean, averaged over people.

    People are identified by their faces, joined into tracks as for `human_identity`; each face has one body, a mask
    below it, embedded as a whole. A face whose body has no usable mask is left out. People who are seen once say
    nothing about memory; they are left out and listed, unless `counts_single_sights`. The raw value is the mean before
    it is clipped to 0 and 1.

    Abstains: `no_target` where no face or no body is found; `too_short` where nobody is seen twice; a reason of the
    video or of the weights where there are no embeddings.
    """

    name = "human_appearance"
    raw_unit = "cosine"
    needs = ("faces", "bodies")

    min_cosine: Annotated[float, "least cosine with a track at which a face continues it"] = 0.15

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        faces, bodies = features["faces"], features["bodies"]
        body_of = _bodies_by_face(faces, bodies)
        tracks = greedy_tracks(
            faces["embeddings"], faces["frame_indices"], min_cosine=self.min_cosine, weighs_alike=self.weighs_alike
        )
        seen = [[body_of[face] for face in track if face in body_of] for track in tracks]
        return self.consistency(bodies["vectors"], bodies["frame_indices"], [track for track in seen if track], "body")


def _bodies_by_face(faces: Feature, bodies: Feature) -> dict[int, int]:
    """Row of the body of each face that has one: a body's thing is the number of the face in its frame."""
    counted: Counter[int] = Counter()
    place = {}
    for row, frame in enumerate(faces["frame_indices"].tolist()):
        place[frame, counted[frame]] = row
        counted[frame] += 1
    pairs = zip(bodies["frame_indices"].tolist(), np.asarray(bodies["things"]).tolist(), strict=True)
    return {place[key]: row for row, key in enumerate(pairs) if key in place}
