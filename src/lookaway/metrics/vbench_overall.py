"""VBench's quality score, from the values of its dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from lookaway.core import Abstention, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit

RANGES: Final = {
    "subject_consistency": (0.1462, 1.0),
    "background_consistency": (0.2615, 1.0),
    "temporal_flickering": (0.6293, 1.0),
    "motion_smoothness": (0.7060, 0.9975),
    "aesthetic_quality": (0.0, 1.0),
    "imaging_quality": (0.0, 1.0),
    "dynamic_degree": (0.0, 1.0),
}
"""Least and greatest value of the dimensions of quality, as VBench scales them."""
WEIGHTS: Final = {**dict.fromkeys(RANGES, 1.0), "dynamic_degree": 0.5}


def scaled_dimensions(values: Mapping[str, float]) -> dict[str, float]:
    """The dimensions of quality among some values, each from 0 to 1."""
    found = {name: bounds for name, bounds in RANGES.items() if name in values}
    return {name: min(1.0, max(0.0, (values[name] - low) / (high - low))) for name, (low, high) in found.items()}


def quality_score(values: Mapping[str, float]) -> float | None:
    """Weighted mean of the dimensions of quality that there are; `None` where there is none.

    >>> quality_score({"imaging_quality": 0.7, "dynamic_degree": 0.5})
    0.6333333333333333
    """
    scaled = scaled_dimensions(values)
    if not scaled:
        return None
    weights = [WEIGHTS[name] for name in scaled]
    return math.fsum(weight * value for weight, value in zip(weights, scaled.values(), strict=True)) / sum(weights)


@dataclass(frozen=True, slots=True)
class VbenchOverall(MetricBase):
    """100 times the weighted mean of VBench's seven dimensions of quality, from the JSON that VBench wrote.

    Dimensions are scaled to 0 to 1 between VBench's bounds, and clipped; dynamic degree weighs half. Nothing is
    measured here. A still picture scores about as high as the best published models. There is no raw value.

    Abstains: `missing_input` where VBench's JSON is not given, does not name the video, or lacks more than
    `max_missing` of the dimensions.
    """

    name = "vbench_overall"
    range = (0.0, 100.0)
    needs = ("vbench",)

    max_missing: Annotated[int, "dimensions that may be missing, and then weigh nothing"] = 0

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per dimension."""
        feature = features["vbench"]
        values = dict(zip(feature.detail["dimensions"], feature["values"].tolist(), strict=True))
        missing = [name for name in RANGES if name not in values]
        score = quality_score(values)
        if score is None or len(missing) > self.max_missing:
            return Abstention(Reason.MISSING_INPUT, f"VBench's JSON lacks {', '.join(missing)} of this video.")
        units = tuple(Unit(name, Score(value)) for name, value in scaled_dimensions(values).items())
        return Score(100 * score, units=units, detail={"missing": missing, "dimensions": values})
