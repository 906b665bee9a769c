"""Scores of the phases in which the target is seen: object identity, depth consistency, motion smoothness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit

MEAN_WEIGHT: Final = 0.7
"""Weight of a mean beside a minimum in MemoBench's combined scores."""
FLAT: Final = 1e-8
"""Added to the extent of depth, so that a flat map stays finite."""
RepeatsTo: TypeAlias = Annotated[
    int | None,
    "frames that a phase is sampled at: of a shorter one some count again, as in MemoBench's own code; `None` counts "
    "each once",
]


def _spread(frames: int, repeats_to: int | None) -> list[int]:
    """Rows of sampled frames: once each, or as often as a spread of `repeats_to` frames, rounded down, falls on each.

    >>> _spread(3, 5), _spread(2, None)
    ([0, 0, 1, 1, 2], [0, 1])
    """
    if repeats_to is None or not 0 < frames < repeats_to:
        return list(range(frames))
    return [place * (frames - 1) // (repeats_to - 1) for place in range(repeats_to)]


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
    constants = (f"{__name__}:MEAN_WEIGHT",)
    needs = ("tokens",)

    top_share: Annotated[float, "share of patches that count, the most similar ones"] = 0.4
    repeats_to: RepeatsTo = None

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
        mean, least = float(top[_spread(len(top), self.repeats_to)].mean()), float(top.min())
        units = tuple(
            Unit(f"f{frame}", Score(value)) for frame, value in zip(frames[1:], top.mean(axis=1).tolist(), strict=True)
        )
        value = MEAN_WEIGHT * mean + (1 - MEAN_WEIGHT) * least
        return Score(value, units=units, detail={"mean": mean, "min": least, "patches": count})


def _unit_length(tokens: Floats) -> Floats:
    return np.asarray(tokens / np.maximum(np.linalg.norm(tokens, axis=-1, keepdims=True), 1e-12))


@dataclass(frozen=True, slots=True)
class DepthConsistency(MetricBase):
    """0.7 m + 0.3 l, from cosines of maps of inverse depth of consecutive sampled frames in each phase.

    Every map is scaled to 0 to 1, so that it is compared by its shape alone. m is the mean over phases of the mean of
    their cosines, l the least cosine. Most maps are much alike, whatever they show: values are near 1. There is no raw
    value; `detail` has m and l.

    A phase with fewer than two sampled frames does not count; in MemoBench's own code it counts as 0, and so it does
    with `counts_short_phases`. The code also samples a frame twice where a phase has fewer than it asks for: so does
    `repeats_to`.

    Abstains: `missing_input` where no phases are annotated; `too_short` where no phase has two sampled frames; a
    reason of the video or of the weights where there is no depth.
    """

    name = "depth_consistency"
    constants = (f"{__name__}:MEAN_WEIGHT", f"{__name__}:FLAT")
    needs = ("inverse_depth", "phases")

    phases: Annotated[tuple[str, ...], "names of the phases"] = ("visible", "reappeared")
    counts_short_phases: Annotated[bool, "counts a phase that is too short as 0, as MemoBench's own code does"] = False
    repeats_to: RepeatsTo = None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per pair of frames."""
        bounds = dict(zip(features["phases"].detail["phases"], features["phases"]["bounds"].tolist(), strict=True))
        if missing := [name for name in self.phases if name not in bounds]:
            return Abstention(Reason.MISSING_INPUT, f"phases {', '.join(missing)} are not annotated.")
        feature = features["inverse_depth"]
        frames, maps = feature["frame_indices"], feature["inverse_depth"]
        units: list[Unit] = []
        found: list[Floats] = []
        for start, stop in (bounds[name] for name in self.phases):
            is_inside = (frames >= start) & (frames < stop)
            cosines = _consecutive_cosines(maps[is_inside].astype(np.float64))
            own = frames[is_inside].tolist()
            if len(cosines) or self.counts_short_phases:
                found.append(self._repeated(cosines) if len(cosines) else np.zeros(1))
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

    def _repeated(self, cosines: Floats) -> Floats:
        """With those of a frame that is sampled twice with itself: they are 1."""
        rows = _spread(len(cosines) + 1, self.repeats_to)
        return np.array([1.0 if first == second else cosines[first] for first, second in pairwise(rows)])


def _consecutive_cosines(maps: Floats) -> Floats:
    """[N - 1] cosines of neighbouring maps [N, rows, columns], clipped to 0 to 1."""
    if len(maps) < 2:
        return np.zeros(0)
    flat = maps.reshape(len(maps), -1)
    lowest, highest = flat.min(axis=1, keepdims=True), flat.max(axis=1, keepdims=True)
    scaled = (flat - lowest) / (highest - lowest + FLAT)
    scaled /= np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), FLAT)
    return np.asarray(np.clip((scaled[1:] * scaled[:-1]).sum(axis=1), 0, 1))


@dataclass(frozen=True, slots=True)
class MotionSmoothness(MetricBase):
    """exp(-e / tau), where e is the mean error of warping a sampled frame to the next by optical flow.

    The mean is over all steps inside of `phases`. The raw value is e, the mean absolute difference of channels from 0
    to 1. MemoBench's own code has the mean of one exponential for each phase of three frames or more, in which a phase
    of fewer than three sampled frames counts as 0, and 0 where there is no such phase: so does `averages_phases`.

    Abstains: `missing_input` where no phases are annotated; `too_short` where no two sampled frames are in one of them;
    a reason of the video or of the weights where there is no flow.
    """

    name = "motion_smoothness"
    raw_unit = "absolute difference"
    needs = ("warp_errors", "phases")

    tau: Annotated[float, "the error at which the value is 1 / e"] = 0.15
    phases: Annotated[tuple[str, ...], "names of the phases"] = ("visible", "reappeared")
    averages_phases: Annotated[bool, "averages phases instead of steps, as MemoBench's own code does"] = False

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
        if self.averages_phases:
            lengths = [stop - start for start, stop in chosen]
            value = self._mean_of_phases(
                [errors[own] for own, length in zip(inside, lengths, strict=True) if length >= 3]
            )
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

    def _mean_of_phases(self, phases: list[Floats]) -> float:
        """Two steps are three sampled frames; 0 where there is no phase at all."""
        values = [math.exp(-float(own.mean()) / self.tau) if len(own) >= 2 else 0.0 for own in phases]
        return math.fsum(values) / len(values) if values else 0.0
