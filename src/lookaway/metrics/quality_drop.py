"""How much worse frames look at the end of a clip than at its start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Features, MetricBase, Outcome, Reason, Rollout, Score, Unit

FULL_SCALE = 100.0


def window_bounds(count: int, length: int, min_length: int) -> list[tuple[int, int]]:
    """First row and one past the last row of each whole window; a clip shorter than one has one, unless too short.

    >>> window_bounds(961, 160, 16)[-1], window_bounds(150, 160, 16), window_bounds(15, 160, 16)
    ((800, 960), [(0, 150)], [])
    """
    starts = range(0, max(1, count // length) * length, length)
    bounds = [(start, min(start + length, count)) for start in starts]
    return [(start, stop) for start, stop in bounds if stop - start >= min_length]


def window_name(window: int, seconds: float) -> str:
    """The name that SANA-WM-Bench's own code has for a window.

    >>> window_name(1, 10)
    'w1_10s-20s'
    """
    return f"w{window}_{window * seconds:.0f}s-{(window + 1) * seconds:.0f}s"


@dataclass(frozen=True, slots=True)
class QualityDrop(MetricBase):
    """Mean image quality of the first window of a clip less that of the last one, divided by 100 (Delta-IQ).

    Windows have `window_rows` sampled frames, so that their length in seconds is that over the rate of the sampler.
    With `text_order`, windows are sorted by their names as text, as SANA-WM-Bench's own code does: w10 comes before w2,
    and from 11 windows on the last one is w9. The raw value is on the scale of the weights, 0 to 100. Below 0 the
    clip gets better. A clip that is poor from the start drops by nothing: `detail` has the first, mean, least and last
    window.

    Abstains: `too_short` for fewer than `min_windows` windows; a reason of the video or of the weights where there is
    no quality.
    """

    name = "quality_drop"
    constants = (f"{__name__}:FULL_SCALE",)
    raw_unit = "quality, 0 to 100"
    range = (None, None)
    higher_is_better = False
    needs = ("quality",)

    window_rows: Annotated[int, "sampled frames of a window"] = 20
    min_rows: Annotated[int, "a window of fewer is left out"] = 2
    min_windows: Annotated[int, "a clip with fewer windows has no drop"] = 2
    window_seconds: Annotated[float, "length of a window, for its name"] = 10.0
    text_order: Annotated[bool, "sorts windows by name as text, as SANA-WM-Bench's own code does"] = False

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout: one unit per window."""
        quality = np.asarray(features["quality"]["quality"], np.float64)
        bounds = window_bounds(len(quality), self.window_rows, self.min_rows)
        if len(bounds) < max(1, self.min_windows):
            return Abstention(
                Reason.TOO_SHORT,
                f"{len(quality)} frames are sampled, which make {len(bounds)} windows; at least {self.min_windows} "
                f"windows of {self.window_rows} are needed.",
            )
        named = [
            (window_name(window, self.window_seconds), float(quality[start:stop].mean()))
            for window, (start, stop) in enumerate(bounds)
        ]
        if self.text_order:
            named.sort()
        means = [mean for _, mean in named]
        drop = means[0] - means[-1]
        units = tuple(Unit(name, Score(mean / FULL_SCALE, raw=mean)) for name, mean in named)
        detail = {"first": means[0], "mean": float(np.mean(means)), "min": min(means), "last": means[-1]}
        return Score(drop / FULL_SCALE, raw=drop, units=units, detail=detail)
