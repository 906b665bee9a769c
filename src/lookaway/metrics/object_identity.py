"""Whether the patches of frames in which the target is back are those of the first frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit

MEAN_WEIGHT = 0.7
"""Of the mean, beside the minimum, in MemoBench's combined scores."""


@dataclass(frozen=True, slots=True)
class ObjectIdentity(MetricBase):
    """0.7 m + 0.3 l, from cosines of patch tokens of the first frame and of each other frame at the same position.

    Cosines are clipped to 0 to 1, and of each frame the largest `top_share` count: m is their mean over all frames, l
    the least of them in any frame. The frames are those that tokens are of: with MemoBench, nine in which the target
    is back. Patches are compared where they are, so that a camera that comes back to another view lowers the score as
    another object does. There is no raw value; `detail` has m and l.

    Abstains: `too_short` where there is no frame beside the first; a reason of the video or of the weights where there
    are no tokens.
    """

    name = "object_identity"
    needs = ("tokens",)

    top_share: Annotated[float, "share of patches that count, the most similar ones"] = 0.4

    def __post_init__(self) -> None:
        if not 0 < self.top_share <= 1:
            raise ValueError(f"a share of patches is above 0 and at most 1, found {self.top_share}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per frame."""
        feature = features["tokens"]
        frames = feature["frame_indices"].tolist()
        if len(frames) < 2 or frames[0] != 0:
            return Abstention(Reason.TOO_SHORT, "tokens of the first frame and of a later one are needed.")
        tokens = _unit_length(feature["patches"].astype(np.float64))
        cosines = np.clip((tokens[1:] * tokens[:1]).sum(axis=-1), 0, 1)
        count = max(1, int(cosines.shape[1] * self.top_share))
        top = np.sort(cosines, axis=1)[:, -count:]
        mean, least = float(top.mean()), float(top.min())
        units = tuple(
            Unit(f"f{frame}", Score(value)) for frame, value in zip(frames[1:], top.mean(axis=1).tolist(), strict=True)
        )
        value = MEAN_WEIGHT * mean + (1 - MEAN_WEIGHT) * least
        return Score(value, units=units, detail={"mean": mean, "min": least, "patches": count})


def _unit_length(tokens: Floats) -> Floats:
    return np.asarray(tokens / np.maximum(np.linalg.norm(tokens, axis=-1, keepdims=True), 1e-12))
