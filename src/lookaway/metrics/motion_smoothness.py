"""How well each frame follows from the one before by optical flow, in the phases in which the target is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class MotionSmoothness(MetricBase):
    """exp(-e / tau), where e is the mean error of warping a sampled frame to the next by optical flow.

    The mean is over all steps inside of `phases`. The raw value is e, the mean absolute difference of channels from 0
    to 1. MemoBench's own code has the mean of one exponential for each phase of three frames or more, in which a phase
    of fewer than three sampled frames counts as 0, and 0 where there is no such phase: `as_published` does so.

    Abstains: `missing_input` where no phases are annotated; `too_short` where no two sampled frames are in one of them;
    a reason of the video or of the weights where there is no flow.
    """

    name = "motion_smoothness"
    raw_unit = "absolute difference"
    needs = ("warp_errors", "phases")

    tau: Annotated[float, "the error at which the value is 1 / e"] = 0.15
    phases: Annotated[tuple[str, ...], "names of the phases"] = ("visible", "reappeared")
    as_published: Annotated[bool, "averages phases instead of steps, as MemoBench's own code does"] = False

    def __post_init__(self) -> None:
        if self.tau <= 0:
            raise ValueError(f"tau is above 0, found {self.tau}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per step."""
        bounds = self._bounds(features)
        if missing := [name for name in self.phases if name not in bounds]:
            return Abstention(Reason.MISSING_INPUT, f"phases {', '.join(missing)} are not annotated.")
        feature = features["warp_errors"]
        steps = np.stack([feature["frame_indices"][:-1], feature["frame_indices"][1:]], axis=1)
        errors = np.asarray(feature["errors"], np.float64)
        chosen = [bounds[name] for name in self.phases]
        inside = [((steps >= start) & (steps < stop)).all(axis=1) for start, stop in chosen]
        is_counted = np.any(inside, axis=0)
        if self.as_published:
            lengths = [stop - start for start, stop in chosen]
            value = self._published([errors[own] for own, length in zip(inside, lengths, strict=True) if length >= 3])
        elif is_counted.any():
            value = math.exp(-float(errors[is_counted].mean()) / self.tau)
        else:
            return Abstention(Reason.TOO_SHORT, f"no two sampled frames are in one phase of {', '.join(self.phases)}.")
        units = tuple(
            Unit(f"f{first}_f{second}", Score(math.exp(-own / self.tau), raw=own))
            for (first, second), own in zip(steps[is_counted].tolist(), errors[is_counted].tolist(), strict=True)
        )
        raw = float(errors[is_counted].mean()) if is_counted.any() else None
        return Score(value, raw=raw, units=units, detail={"steps": int(is_counted.sum())})

    def _bounds(self, features: Features) -> dict[str, tuple[int, int]]:
        phases = features["phases"]
        return {name: tuple(own) for name, own in zip(phases.detail["phases"], phases["bounds"].tolist(), strict=True)}

    def _published(self, phases: list[Floats]) -> float:
        """Two steps are three sampled frames; 0 where there is no phase at all."""
        values = [math.exp(-float(own.mean()) / self.tau) if len(own) >= 2 else 0.0 for own in phases]
        return math.fsum(values) / len(values) if values else 0.0
