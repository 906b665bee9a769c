"""Scores that published revisit protocols make of how unlike two views of one place are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.metrics.frame_metrics import unit_names


@dataclass(frozen=True, slots=True)
class RevisitMemory(MetricBase):
    """100 / (1 + mean distance / `tau`), over pairs of frames at equal distance from a reversal.

    This is WorldMark's Revisit Memory. The raw value is the mean distance, 1 - cosine of mean patch tokens. Unrelated
    pictures are about 0.5 apart, so that with a `tau` of 1 they still score 67.

    Abstains: `missing_input` without an action; `not_applicable` for an action without a reversal; `gate_closed` where
    the picture does not go out and come back as the action says; `too_short` without pairs; a reason of the video or of
    the weights where there are no distances.
    """

    name = "revisit_memory"
    raw_unit = "1 - cosine"
    range = (0.0, 100.0)
    needs = ("distances",)

    tau: Annotated[float, "mean distance at which the score is 50"] = 1.0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["distances"]
        _, names = unit_names(feature)
        if not names:
            return Abstention(Reason.TOO_SHORT, "there is no pair to measure.")
        distances: list[float] = np.asarray(feature["distances"], np.float64).tolist()
        units = tuple(Unit(name, self._score(number)) for name, number in zip(names, distances, strict=True))
        mean = self._score(float(np.mean(distances)))
        return Score(mean.value, raw=mean.raw, units=units, detail={"pairs": len(names), **feature.detail})

    def _score(self, distance: float) -> Score:
        return Score(100 / (1 + distance / self.tau), raw=distance)


@dataclass(frozen=True, slots=True)
class LoopSimilarity(MetricBase):
    """1 / (1 + distance) of the first frame and the one at which the camera is back.

    This is WBench's spatial consistency. With `min_change`, it is multiplied by min(1, (1 - s) / `min_change`), where s
    is the least similarity of the first frame to any frame up to the return: a picture that never changes scores 0.
    The raw value is the distance. What opens that gate is any change, forgetting included.

    Abstains: `missing_input` without an action or poses; `not_applicable` for an action that does not lead back;
    `too_short` without pairs; a reason of the video or of the weights where there are no distances.
    """

    name = "loop_similarity"
    raw_unit = "distance"
    needs = ("distances",)

    min_change: Annotated[
        float | None, "loss of similarity that shows that the view was left; `None` does not ask for any"
    ] = None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout; pairs are those of the first frame, the return last."""
        feature = features["distances"]
        _, names = unit_names(feature)
        if not names:
            return Abstention(Reason.TOO_SHORT, "there is no pair to measure.")
        similarities = 1 / (1 + np.asarray(feature["distances"], np.float64))
        back, least = float(similarities[-1]), min(1.0, float(similarities.min()))
        gate = 1.0 if self.min_change is None else min(1.0, (1 - least) / self.min_change)
        detail = {"return_similarity": back, "min_similarity": least, "gate": gate, **feature.detail}
        return Score(back * gate, raw=float(feature["distances"][-1]), detail=detail)


@dataclass(frozen=True, slots=True)
class MirrorSymmetry(MetricBase):
    """Weighted mean over mirrored frames of exp(-`slope` max(MSE - `free_mse`, 0)^`power`), with MSE on 0 to 255.

    This is iWorld-Bench's memory symmetry. Frame i of n is compared with frame n - 1 - i. Pairs are weighted by
    exp(`rate` |i - middle|), as intended. With `as_written`, the series of all frames but the first is weighted by
    exp(`rate` i), the middle one of an odd number as the mean of its neighbours: that is what the released code
    computes, and the last frames decide. There is no raw value.

    Abstains: `too_short` for fewer than 2 frames; a reason of the video where it cannot be read.
    """

    name = "mirror_symmetry"
    needs = ("fidelity",)

    free_mse: Annotated[float, "squared difference that costs nothing"] = 1000.0
    slope: Annotated[float, "cost of what is above"] = 1e-4
    power: Annotated[float, "power to which it is raised"] = 1.1
    rate: Annotated[float, "by which weights grow from frame to frame"] = 0.1
    as_written: Annotated[bool, "weighs frames as the released code does, instead of as intended"] = False

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["fidelity"]
        mse = np.asarray(feature["mse"], np.float64) * 255.0**2
        if not mse.size:
            return Abstention(Reason.TOO_SHORT, "there is no frame to measure.")
        scores = self.scores(mse)
        count = int(feature.detail.get("video_frames", 2 * len(mse)))
        value = self.weighted(scores, count)
        frames = feature["frame_indices"].tolist()
        units = tuple(Unit(f"f{frame}", Score(number)) for frame, number in zip(frames, scores.tolist(), strict=True))
        return Score(value, units=units, detail={"frames": count})

    def scores(self, mse: Floats) -> Floats:
        """[pairs] from 0 to 1."""
        return np.asarray(np.exp(-self.slope * np.maximum(mse - self.free_mse, 0) ** self.power))

    def weighted(self, scores: Floats, count: int) -> float:
        """The weighted mean of a clip of so many frames."""
        if not self.as_written:
            weights = np.exp(self.rate * ((count - 1) / 2 - np.arange(len(scores))))
            return float(weights @ scores / weights.sum())
        middle = [float(scores[-1])] if count % 2 else []
        series = np.concatenate([scores, middle, scores[::-1]])
        weights = np.exp(self.rate * np.arange(1, len(series)))
        return float(weights @ series[1:] / weights.sum())
