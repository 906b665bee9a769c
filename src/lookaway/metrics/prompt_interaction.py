"""Whether a video follows its prompt, segment by segment."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lookaway.core import Abstention, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.core.frames import segment_bounds


@dataclass(frozen=True, slots=True)
class PromptInteraction(MetricBase):
    """Mean cosine between frames and the prompt segment that they belong to, clipped to 0 and 1.

    Segments divide the video into equal parts. First the mean over the sampled frames of each segment, then over
    segments. The raw value is the mean before clipping.

    Abstains: `missing_input` without a prompt; `too_short` where a segment has no sampled frame; a reason of the video
    or of the weights where there are no embeddings.
    """

    name = "prompt_interaction"
    raw_unit = "cosine"
    needs = ("similarity",)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """A prompt is needed."""
        if rollout.case.prompt:
            return None
        return Abstention(Reason.MISSING_INPUT, f"the case {rollout.case.id} has no prompt to compare frames with.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        similarity = features["similarity"]
        cosines, frames = np.asarray(similarity["cosines"], np.float64), similarity["frame_indices"]
        segments = cosines.shape[1]
        bounds = segment_bounds(int(similarity.detail["frame_count"]), segments)
        units = []
        for number, (start, stop) in enumerate(bounds):
            own = cosines[(frames >= start) & (frames < stop), number]
            if not len(own):
                return Abstention(
                    Reason.TOO_SHORT, f"segment {number} of {segments} has none of the {len(frames)} sampled frames."
                )
            units.append(Unit(f"segment{number}", Score(float(own.mean()), detail={"frames": len(own)})))
        values = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
        raw = math.fsum(values) / len(values)
        return Score(min(max(raw, 0.0), 1.0), raw=raw, units=tuple(units), detail={"segments": segments})
