"""How far a judge's answers to probes speak for a video."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from lookaway.core import Abstention, Features, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class ProbeSupport:
    """Mean over probes of the probability of the answer that speaks for the video.

    That is `p_yes` where a yes speaks for it and 1 - `p_yes` where a yes speaks against it; `p_yes` is the median over
    repeats. All probes weigh the same.

    Abstains: `missing_input` where a named probe was not asked; a reason of the judge where one was not answered.
    """

    name: ClassVar[str] = "probe_support"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "probability"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("probe_probabilities",)
    uses: ClassVar[tuple[str, ...]] = ()

    probes: Annotated[tuple[str, ...], "names of the probes that count; all that were asked where none is named"] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["probe_probabilities"]
        asked = list(feature.detail["probes"])
        missing = [name for name in self.probes if name not in asked]
        if missing:
            return Abstention(
                Reason.MISSING_INPUT, f"the probes {', '.join(missing)} were not asked; asked: {', '.join(asked)}."
            )
        medians = np.median(feature["p_yes"], axis=1)
        support = np.where(feature["is_positive"], medians, 1 - medians)
        units = tuple(
            Unit(name, Score(float(support[row]), detail={"p_yes": float(medians[row])}))
            for row, name in enumerate(asked)
            if not self.probes or name in self.probes
        )
        values = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
        return Score(math.fsum(values) / len(values), units=units, detail={"repeats": int(feature["p_yes"].shape[1])})
