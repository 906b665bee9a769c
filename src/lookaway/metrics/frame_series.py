"""From one number a frame to one number."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lookaway.core import Abstention, Feature, Floats, Json, Outcome, Reason, Score, Unit


def score_of_frames(
    feature: Feature, series: Floats, *, full_scale: float | None = None, detail: Mapping[str, Json] | None = None
) -> Outcome:
    """The plain mean of a series over the frames of a feature, with every frame as a unit `f{index}`.

    With `full_scale`, values are parts of it, and raw values are those of the series. The facts that come with the
    feature go into the detail.
    """
    frames = feature["frame_indices"].tolist()
    if not frames:
        return Abstention(Reason.TOO_SHORT, "there is no frame to measure.")
    numbers: list[float] = np.asarray(series, np.float64).tolist()
    units = tuple(Unit(f"f{frame}", _score(number, full_scale)) for frame, number in zip(frames, numbers, strict=True))
    mean = _score(math.fsum(numbers) / len(numbers), full_scale)
    facts = {"frames": len(frames), **feature.detail, **(detail or {})}
    return Score(mean.value, raw=mean.raw, units=units, detail=facts)


def _score(number: float, full_scale: float | None) -> Score:
    return Score(number) if full_scale is None else Score(number / full_scale, raw=number)
