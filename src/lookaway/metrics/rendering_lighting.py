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
    Json,
    MetricBase,
    Outcome,
    Pairs,
    PairSelector,
    Reason,
    Rollout,
    Score,
    Trajectory,
    Unit,
)
from lookaway.metrics.fold_pairs import FoldPairs


@dataclass(frozen=True, slots=True)
class LightingChange(MetricBase):
    """Change of mean lightness and mean colour between segments of the way out and of the way back."""

    raw_unit = "CIELAB distance"

    pairs: Annotated[PairSelector, "which frames are compared"] = FoldPairs()
    lightness_weight: Annotated[float, "weight of lightness against colour"] = 0.5
    tau: Annotated[float, "CIELAB distance at which the score is 1/e"] = 10.0

    def compare(self, lab: Floats, pairs: Pairs, segment_frames: int) -> Outcome:
        """The score of a clip: one unit per frame pair, with segments of so many frames."""
        units = tuple(self._unit(lab, first, second, segment_frames) for first, second in pairs.frames.tolist())
        distances = [unit.outcome.raw or 0.0 for unit in units if isinstance(unit.outcome, Score)]
        if not distances:
            message = f"none of {len(units)} frame pairs has two segments of {segment_frames} frames."
            return Abstention(Reason.TOO_SHORT, message, units)
        distance = math.fsum(distances) / len(distances)
        detail: dict[str, Json] = {
            "branch": pairs.rule.partition(";")[0],
            "pairs": pairs.rule,
            "pairs_scored": len(distances),
            "pairs_asked": len(units),
            "partner_frames": pairs.partner_frames,
            "segment_frames": segment_frames,
        }
        return Score(math.exp(-distance / self.tau), raw=distance, units=units, detail=detail)

    def _unit(self, lab: Floats, first: int, second: int, length: int) -> Unit:
        name, last_start = f"f{first}_f{second}", len(lab) - length
        start_1 = min(max(0, first - length // 2), last_start)
        start_2 = min(max(0, second - (length - 1) // 2), last_start)
        if last_start < 0 or start_2 - start_1 < length:
            return Unit(name, Abstention(Reason.TOO_SHORT, f"the segments of frames {first} and {second} overlap."))
        before, after = (lab[start : start + length].mean(axis=0, dtype=np.float64) for start in (start_1, start_2))
        change = np.abs(before - after)
        colour = math.hypot(change[1], change[2])
        distance = self.lightness_weight * float(change[0]) + (1 - self.lightness_weight) * colour
        return Unit(name, Score(math.exp(-distance / self.tau), raw=distance))


@dataclass(frozen=True, slots=True)
class RenderingLighting(LightingChange):
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
    needs = ("lab_means",)
    uses = ("poses",)

    segment_frames: Annotated[int, "frames around each frame of a pair that are averaged"] = 8

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        lab = features["lab_means"]["lab"]
        trajectory = Trajectory.from_feature(features["poses"]) if "poses" in features else None
        return self.compare(lab, self.pairs.select(rollout, len(lab), trajectory), self.segment_frames)


@dataclass(frozen=True, slots=True)
class RenderingLightingSeconds(LightingChange):
    """Change of mean lightness and mean colour of segments that last as long at every frame rate.

    The formula is that of `rendering_lighting`, with segments of `segment_seconds` in place of a number of frames:
    eight frames are half a second at 16 frames a second and 1.3 seconds at 6, long enough for the camera to see other
    places. Pairs come from the camera's path alone, never from the middle of the clip, so that all clips of a mean are
    measured in one way.

    Abstains: `missing_input` without poses; `pose_failed` where they hold no valid camera; `pose_convention_ambiguous`
    where their convention is neither stated nor visible in the frames; `not_applicable` where the camera does not come
    back; `too_short` where no two segments are apart.
    """

    name = "rendering_lighting_seconds"
    needs = ("lab_means", "poses")

    segment_seconds: Annotated[float, "time around each frame of a pair that is averaged"] = 0.5

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        lab, times = features["lab_means"]["lab"], features["lab_means"]["times_seconds"]
        pairs = self.pairs.select(rollout, len(lab), Trajectory.from_feature(features["poses"]))
        if pairs.rule.startswith("symmetric"):
            return Abstention(Reason.NOT_APPLICABLE, f"the camera's path gives no pairs ({pairs.rule}).")
        span = float(times[-1] - times[0])
        if not span > 0:
            return Abstention(Reason.TOO_SHORT, f"the {len(times)} frames last {span:g} s.")
        return self.compare(lab, pairs, max(1, round(self.segment_seconds * (len(times) - 1) / span)))
