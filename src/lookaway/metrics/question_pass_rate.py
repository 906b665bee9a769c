"""Share of a bank's questions that a video passes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

from lookaway.core import Abstention, Features, Outcome, Reason, Rollout, Score, Unit


@dataclass(frozen=True, slots=True)
class QuestionPassRate:
    """Share of questions answered as they are for a video that is right: positive ones with yes, negative ones with no.

    Every question counts the same; one that was put several times passes by the share of its repeats.

    Abstains: `not_applicable` where the bank has no question of the dimension; a reason of the judge where it did not
    answer all questions.
    """

    name: ClassVar[str] = "question_pass_rate"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "share"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("question_verdicts",)
    uses: ClassVar[tuple[str, ...]] = ()

    dimension: Annotated[str | None, "the questions that count; all where none is named"] = None

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["question_verdicts"]
        dimensions = list(feature.detail["dimensions"])
        passed = (feature["says_yes"] == feature["is_positive"][:, None]).mean(axis=1)
        units = tuple(
            Unit(f"question{number}", Score(float(share), detail={"dimension": dimension}))
            for number, share, dimension in zip(feature["question_ids"].tolist(), passed, dimensions, strict=True)
            if self.dimension in (None, dimension)
        )
        values = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
        if not values:
            known = ", ".join(sorted(set(dimensions)))
            return Abstention(
                Reason.NOT_APPLICABLE, f"the bank has no question of {self.dimension!r}; its dimensions: {known}."
            )
        return Score(math.fsum(values) / len(values), units=units, detail={"questions": len(values)})
