"""Whether the depth of neighbouring frames is alike, in the phases in which the target is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.metrics.object_identity import MEAN_WEIGHT

FLAT = 1e-8
"""Added to the extent of depth, so that a flat map stays finite."""


@dataclass(frozen=True, slots=True)
class DepthConsistency(MetricBase):
    """0.7 m + 0.3 l, from cosines of depth maps of consecutive sampled frames in each phase.

    Every map is scaled to 0 to 1, so that it is compared by its shape alone. m is the mean over phases of the mean of
    their cosines, l the least cosine. Most maps are much alike, whatever they show: values are near 1. There is no raw
    value; `detail` has m and l.

    A phase with fewer than two sampled frames does not count; in MemoBench's own code it counts as 0, and so it does
    with `as_published`.

    Abstains: `missing_input` where no phases are annotated; `too_short` where no phase has two sampled frames; a
    reason of the video or of the weights where there is no depth.
    """

    name = "depth_consistency"
    needs = ("depth", "phases")

    phases: Annotated[tuple[str, ...], "names of the phases"] = ("visible", "reappeared")
    as_published: Annotated[bool, "counts a phase that is too short as 0, as MemoBench's own code does"] = False

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per pair of frames."""
        bounds = dict(zip(features["phases"].detail["phases"], features["phases"]["bounds"].tolist(), strict=True))
        if missing := [name for name in self.phases if name not in bounds]:
            return Abstention(Reason.MISSING_INPUT, f"phases {', '.join(missing)} are not annotated.")
        frames, maps = features["depth"]["frame_indices"], features["depth"]["inverse_depth"]
        units: list[Unit] = []
        found: list[Floats] = []
        for start, stop in (bounds[name] for name in self.phases):
            is_inside = (frames >= start) & (frames < stop)
            cosines = _consecutive_cosines(maps[is_inside].astype(np.float64))
            own = frames[is_inside].tolist()
            if len(cosines) or self.as_published:
                found.append(cosines if len(cosines) else np.zeros(1))
            units += [
                Unit(f"f{first}_f{second}", Score(value))
                for first, second, value in zip(own, own[1:], cosines.tolist(), strict=False)
            ]
        if not found:
            return Abstention(Reason.TOO_SHORT, f"no two sampled frames are in one phase of {', '.join(self.phases)}.")
        mean = float(np.mean([cosines.mean() for cosines in found]))
        least = float(min(cosines.min() for cosines in found))
        value = MEAN_WEIGHT * mean + (1 - MEAN_WEIGHT) * least
        return Score(value, units=tuple(units), detail={"mean": mean, "min": least})


def _consecutive_cosines(maps: Floats) -> Floats:
    """[N - 1] cosines of neighbouring maps [N, rows, columns], clipped to 0 to 1."""
    flat = maps.reshape(len(maps), -1)
    if len(flat) < 2:
        return np.zeros(0)
    lowest, highest = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    scaled = (flat - lowest) / (highest - lowest + FLAT)
    scaled /= np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), FLAT)
    return np.asarray(np.clip((scaled[1:] * scaled[:-1]).sum(axis=1), 0, 1))
