"""A metric of frames, reported for one phase of the video."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from lookaway.core import Abstention, Features, Metric, MetricBase, Outcome, Reason, Rollout, Score, Unit
from lookaway.metrics.frame_metrics import Ssim

FRAMES: Final = re.compile(r"f\d+(_f\d+)*")
"""Name of a unit that is a frame, or a pair of frames."""


class _FromMetric:
    """What instances have from the metric inside; the class has that of its default."""

    def __init__(self, default: Any, more: tuple[str, ...] = ()) -> None:
        self._default, self._more, self._name = default, more, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: PhaseMean | None, owner: type) -> Any:
        if instance is None:
            return self._default
        found = getattr(instance.metric, self._name)
        return (*found, *self._more) if self._more else found


_OfMetric: Any = _FromMetric
"""Typed as any value, so that what is declared has the type of the value."""


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

    unit: ClassVar[str] = _OfMetric(Ssim.unit)
    raw_unit: ClassVar[str | None] = _OfMetric(Ssim.raw_unit)
    range: ClassVar[tuple[float | None, float | None]] = _OfMetric(Ssim.range)
    higher_is_better: ClassVar[bool] = _OfMetric(Ssim.higher_is_better)
    needs: ClassVar[tuple[str, ...]] = _OfMetric((*Ssim.needs, "phases"), more=("phases",))
    uses: ClassVar[tuple[str, ...]] = _OfMetric(Ssim.uses)

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
            detail={
                "phase": self.phase,
                "first_frame": start,
                "past_last_frame": stop,
                "frames": len(scores),
                "reference_frames": features["phases"].detail.get("reference_frames"),
            },
        )


def _is_inside(unit: Unit, start: int, stop: int) -> bool:
    return all(start <= int(frame) < stop for frame in re.findall(r"\d+", unit.name))
