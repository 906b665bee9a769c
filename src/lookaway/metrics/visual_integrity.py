"""Whether a video stays one picture: how much of each frame is found in the next, and the first frame in the last."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class VisualIntegrity(MetricBase):
    """The lesser of how alike first and last frame are, and how much of each frame is found again in the next.

    WRBench's D2. Global: the cosine of the tokens of first and last frame. Local: every patch of two neighbouring
    sampled frames has the cosine with its most similar patch of the other; the value of a pair is a percentile of
    these, in both directions together, and that of the video the same percentile over pairs. Cosines below 0 count as
    0. A video that stands still scores 1: this is about pictures that fall apart, not about memory.

    Abstains: `too_short` for fewer than two sampled frames; `missing_weights` without the network; `invalid_input`
    where a token is zero or not finite, or where there are no patches.
    """

    name = "visual_integrity"
    needs = ("tokens",)

    percentile: Annotated[float, "of the similarities of patches, and of pairs of frames"] = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.percentile <= 100:
            raise ValueError(f"a percentile lies between 0 and 100, found {self.percentile}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per pair of neighbouring sampled frames."""
        tokens = features["tokens"]
        frames = tokens["frame_indices"]
        if len(frames) < 2:
            return Abstention(Reason.TOO_SHORT, f"{len(frames)} sampled frames, at least 2 are needed.")
        whole, patches = (_normalised(tokens[name]) for name in ("cls", "patches"))
        if whole is None or patches is None or patches.shape[1] == 0:
            return Abstention(Reason.INVALID_INPUT, "a token is zero or not finite, or a frame has no whole patch.")
        overall = float(np.clip(whole[0] @ whole[-1], 0.0, 1.0))
        found = [self._found_again(first, second) for first, second in pairwise(patches)]
        local = float(np.percentile(found, self.percentile))
        units = tuple(
            Unit(f"f{first}-f{second}", Score(value))
            for first, second, value in zip(frames[:-1], frames[1:], found, strict=True)
        )
        detail = {"global": overall, "local": local, "frames": len(frames)}
        return Score(min(overall, local), units=units, detail=detail)

    def _found_again(self, first: Floats, second: Floats) -> float:
        """How much of two frames is found in the other."""
        similarity = np.clip(first @ second.T, 0.0, 1.0)
        best = np.concatenate([similarity.max(axis=1), similarity.max(axis=0)])
        return float(np.percentile(best, self.percentile))


def _normalised(tokens: Floats) -> Floats | None:
    """Tokens of length 1; `None` where that is not possible."""
    values = tokens.astype(np.float64)
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    if not np.isfinite(values).all() or (lengths == 0).any():
        return None
    return np.asarray(values / lengths)
