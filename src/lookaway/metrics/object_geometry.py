"""Whether an object keeps its shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lookaway.core import Abstention, Feature, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class ObjectGeometry(MetricBase):
    """Mean SSIM between the target before and after the camera looked away, the later frame warped onto the earlier.

    The warp follows the poses and the depth of the earlier frame, so that what remains is a change of the object
    itself. First the mean over the target's pixels of each pair of frames, then over pairs. The raw value is the mean
    before it is clipped to 0 and 1. Pairs that show too little of the target are left out and listed.

    Abstains: `no_target` where no pair shows enough of the target; `too_short` where no two frames are far enough
    apart; `missing_input` or `pose_failed` without valid poses and depth; `pose_convention_ambiguous` where the
    convention of the poses is neither stated nor visible in the frames; a reason of the video or of the weights where
    there are no masks.
    """

    name = "object_geometry"
    raw_unit = "SSIM"
    needs = ("warped_similarity",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        similarity = features["warped_similarity"]
        values = similarity["ssim"].tolist()
        left_out = _left_out(similarity)
        if not values:
            message = f"none of {len(left_out)} frame pairs shows enough of the target in both frames."
            return Abstention(Reason.NO_TARGET, message, left_out)
        scored = tuple(
            Unit(f"f{first}_f{second}", Score(_clip(value), raw=value, detail={"pixels": pixels}))
            for (first, second), value, pixels in zip(
                similarity["frames"].tolist(), values, similarity["pixels"].tolist(), strict=True
            )
        )
        raw = math.fsum(values) / len(values)
        asked = len(scored) + len(left_out)
        detail = {"pairs": similarity.detail.get("rule"), "pairs_scored": len(scored), "pairs_asked": asked}
        return Score(_clip(raw), raw=raw, units=(*scored, *left_out), detail=detail)


def _left_out(similarity: Feature) -> tuple[Unit, ...]:
    listed = similarity.detail.get("too_few_pixels", [])
    return tuple(
        Unit(f"f{first}_f{second}", Abstention(Reason.NO_TARGET, f"{pixels} pixels of the target are in both frames."))
        for first, second, pixels in listed
    )


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
