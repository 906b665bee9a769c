"""Whether an event went on while nobody looked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout, Score
from lookaway.metrics.judge_ratings import middle_rating, rating_detail, rating_value


@dataclass(frozen=True, slots=True)
class StateProgress:
    """How far an event advanced out of sight, as a judge rates it: (rating - 1) / 4, the median over repeats.

    The raw value is the rating, from 1 to 5.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be asked or read; `judge_refused` where
    it would not answer; `missing_input` without the text of an event.
    """

    name: ClassVar[str] = "state_progress"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "rating from 1 to 5"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("progress_rating",)
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rating = middle_rating(features["progress_rating"])
        return Score(rating_value(rating), raw=rating, detail=rating_detail(features["progress_rating"]))
