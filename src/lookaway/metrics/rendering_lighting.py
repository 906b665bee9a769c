"""Whether brightness and colour are the same when the camera returns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import (
    Abstention,
    Features,
    Floats,
    MetricBase,
    Outcome,
    PairSelector,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
)
from lookaway.metrics.fold_pairs import FoldPairs


@dataclass(frozen=True, slots=True)
class RenderingLighting(MetricBase):
    """Change of mean lightness and mean colour between the way out and the way back, mapped by exp(-D / tau).

    Around each frame of a pair lies a segment of `segment_frames` frames, the two mirrored in time, as a camera that
    comes back sees the same views in reverse. A is the time mean of the frames' mean L* in CIELAB, c the time mean of
    their mean (a*, b*). D is the mean over pairs of
    `lightness_weight` |A_i - A_j| + (1 - `lightness_weight`) ||c_i - c_j||. The value is exp(-D / `tau`); the raw
    value is D. Pairs whose segments share frames would compare a frame with itself; they are left out and listed.

    Pairs come from the camera's path where poses are supplied and can be used, and lie symmetrically about the middle
    of the clip where not; `detail.pairs` says which.

    Abstains: `too_short` where no two segments are apart; a reason of the video where it cannot be read.
    """

    name = "rendering_lighting"
    raw_unit = "CIELAB distance"
    needs = ("lab_means",)
    uses = ("poses",)

    pairs: Annotated[PairSelector, "which frames are compared"] = FoldPairs()
    lightness_weight: Annotated[float, "weight of lightness against colour"] = 0.5
    tau: Annotated[float, "CIELAB distance at which the score is 1/e"] = 10.0
    segment_frames: Annotated[int, "frames around each frame of a pair that are averaged"] = 8

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        lab = features["lab_means"]["lab"]
        trajectory = Trajectory.from_feature(features["poses"]) if "poses" in features else None
        pairs = self.pairs.select(rollout, len(lab), trajectory)
        units = tuple(self._unit(lab, first, second) for first, second in pairs.frames.tolist())
        distances = [unit.outcome.raw or 0.0 for unit in units if isinstance(unit.outcome, Score)]
        if not distances:
            message = f"none of {len(units)} frame pairs has two segments of {self.segment_frames} frames."
            return Abstention(Reason.TOO_SHORT, message, units)
        distance = math.fsum(distances) / len(distances)
        detail = {"pairs": pairs.rule, "pairs_scored": len(distances), "pairs_asked": len(units)}
        return Score(math.exp(-distance / self.tau), raw=distance, units=units, detail=detail)

    def _unit(self, lab: Floats, first: int, second: int) -> Unit:
        name, last_start = f"f{first}_f{second}", len(lab) - self.segment_frames
        start_1 = min(max(0, first - self.segment_frames // 2), last_start)
        start_2 = min(max(0, second - (self.segment_frames - 1) // 2), last_start)
        if last_start < 0 or start_2 - start_1 < self.segment_frames:
            return Unit(name, Abstention(Reason.TOO_SHORT, f"the segments of frames {first} and {second} overlap."))
        change = np.abs(self._mean(lab, start_1) - self._mean(lab, start_2))
        colour = math.hypot(change[1], change[2])
        distance = self.lightness_weight * float(change[0]) + (1 - self.lightness_weight) * colour
        return Unit(name, Score(math.exp(-distance / self.tau), raw=distance))

    def _mean(self, lab: Floats, start: int) -> Floats:
        return np.asarray(lab[start : start + self.segment_frames].mean(axis=0, dtype=np.float64))
