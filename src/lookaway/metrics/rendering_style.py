"""Whether a video keeps its style."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookaway.core import Abstention, Feature, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class RenderingStyle(MetricBase):
    """1 - D, clipped to 0 and 1, with D the mean distance in style of consecutive sampled frames.

    The distance of two frames is the Frobenius distance of their Gram matrices, averaged over the layers of the
    network. The raw value is D. Where LPIPS of the same steps is known, or one minus the cosine of DINOv2's class
    tokens, units report them as `lpips` and `dinov2`; they do not change the score.

    Abstains: `too_short` where there are not two frames; a reason of the video or of the weights where there is no
    style.
    """

    name = "rendering_style"
    raw_unit = "Gram distance"
    needs = ("style",)
    uses = ("lpips", "dinov2")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        style = features["style"]
        distances = np.asarray(style["distances"], np.float64).mean(axis=1)
        if not len(distances):
            return Abstention(Reason.TOO_SHORT, "style is compared from frame to frame, and there is one only.")
        frames = style["frame_indices"].tolist()
        beside = _beside(features, frames)
        units = tuple(
            Unit(
                f"f{first}_f{second}",
                Score(_value(distance), raw=distance, detail={name: known[step] for name, known in beside.items()}),
            )
            for step, (distance, first, second) in enumerate(
                zip(distances.tolist(), frames[:-1], frames[1:], strict=True)
            )
        )
        mean = math.fsum(distances.tolist()) / len(distances)
        return Score(_value(mean), raw=mean, units=units, detail={"steps": len(distances)})


def _value(distance: float) -> float:
    return min(max(1.0 - distance, 0.0), 1.0)


def _beside(features: Features, frames: list[int]) -> dict[str, list[float]]:
    """Distances of the same steps by other networks, where they are known."""
    return {
        name: distances(features[name])
        for name, distances in (("lpips", _lpips), ("dinov2", _turns))
        if name in features and features[name]["frame_indices"].tolist() == frames
    }


def _lpips(feature: Feature) -> list[float]:
    found: list[float] = np.asarray(feature["distances"], np.float64).tolist()
    return found


def _turns(feature: Feature) -> list[float]:
    """One minus the cosine of the tokens of each frame and the next."""
    tokens = np.asarray(feature["cls"], np.float64)
    lengths = np.linalg.norm(tokens, axis=1, keepdims=True)
    directions = tokens / np.where(lengths > 0, lengths, 1)
    found: list[float] = (1 - (directions[:-1] * directions[1:]).sum(axis=1)).tolist()
    return found
