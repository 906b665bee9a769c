"""A metric of frames, reported for one phase of the video."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Final

from lookaway.core import Abstention, Features, Metric, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.metrics.frame_metrics import Ssim

FRAMES: Final = re.compile(r"f\d+(_f\d+)*")
"""Name of a unit that is a frame, or a pair of frames."""


@dataclass(frozen=True, slots=True)
class PhaseMean(MetricBase):
    """Mean of another metric over the frames of one phase, such as those in which the target has reappeared.

    The metric is any that has a unit for each frame or pair of frames; a pair counts where all its frames are in the
    phase. Value, raw value, unit and direction are those of the metric. `detail` says which frames the phase has, and
    how many of them are measured.

    Abstains: `missing_input` where no phases are annotated, or none of this name; `too_short` where no measured frame
    is in the phase; `not_applicable` where the metric has no units that are frames; any reason of the metric.
    """

    name = "phase_mean"

    metric: Annotated[Metric, "what is measured"] = Ssim()
    phase: Annotated[str, "name of the phase"] = "reappeared"

    @property
    def unit(self) -> str:  # type: ignore[override]  # that of the metric
        """Unit of the value."""
        return self.metric.unit

    @property
    def raw_unit(self) -> str | None:  # type: ignore[override]  # that of the metric
        """Unit of the raw value, if there is one."""
        return self.metric.raw_unit

    @property
    def range(self) -> tuple[float | None, float | None]:  # type: ignore[override]  # that of the metric
        """Least and greatest possible value."""
        return self.metric.range

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]  # that of the metric
        """Direction."""
        return self.metric.higher_is_better

    @property
    def needs(self) -> tuple[str, ...]:  # type: ignore[override]  # those of the metric, and phases
        """Features without which it abstains."""
        return (*self.metric.needs, "phases")

    @property
    def uses(self) -> tuple[str, ...]:  # type: ignore[override]  # those of the metric
        """Features that it takes into account where they are available."""
        return self.metric.uses

    def declines(self, rollout: Rollout) -> Abstention | None:
        """What the metric declines."""
        return self.metric.declines(rollout)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout, and keep the units of the phase."""
        names: list[str] = features["phases"].detail["phases"]
        if self.phase not in names:
            known = ", ".join(names) or "none"
            return Abstention(Reason.MISSING_INPUT, f"no phase is named {self.phase!r}; the rollout has: {known}.")
        start, stop = features["phases"]["bounds"][names.index(self.phase)].tolist()
        whole = self.metric.measure(rollout, features)
        if not isinstance(whole, Score):
            return whole
        if not all(FRAMES.fullmatch(unit.name) for unit in whole.units) or not whole.units:
            return Abstention(Reason.NOT_APPLICABLE, f"{self.metric.name} has no value for each frame.")
        units = tuple(unit for unit in whole.units if _is_inside(unit, start, stop))
        scores = [unit.outcome for unit in units if isinstance(unit.outcome, Score)]
        if not scores:
            return Abstention(
                Reason.TOO_SHORT,
                f"no measured frame is in the phase {self.phase!r}, which spans the frames {start} to {stop}.",
                units,
            )
        raws = [score.raw for score in scores if score.raw is not None]
        return Score(
            math.fsum(score.value for score in scores) / len(scores),
            raw=math.fsum(raws) / len(raws) if len(raws) == len(scores) else None,
            units=units,
            detail={"phase": self.phase, "first_frame": start, "past_last_frame": stop, "frames": len(scores)},
        )


def _is_inside(unit: Unit, start: int, stop: int) -> bool:
    return all(start <= int(frame) < stop for frame in re.findall(r"\d+", unit.name))
