"""Whether an event went on rightly while nobody looked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lookaway.core import Abstention, Features, Outcome, Rollout, Score
from lookaway.metrics.judge_ratings import middle_rating, rating_detail, rating_value


@dataclass(frozen=True, slots=True)
class ProgressCorrectness:
    """Progress times plausibility: g s, with g = (progress rating - 1) / 4 and s = (correctness rating - 1) / 4.

    An event that did not go on is not right, however plausible a standstill looks. Ratings are medians over repeats;
    the raw value is the rating of correctness, and `detail` holds both.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be asked or read; `judge_refused` where
    it would not answer; `missing_input` without the text of an event.
    """

    name: ClassVar[str] = "progress_correctness"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = "rating from 1 to 5"
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("progress_rating", "correctness_rating")
    uses: ClassVar[tuple[str, ...]] = ()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nothing beyond its features is needed."""
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        progress, correctness = (middle_rating(features[name]) for name in self.needs)
        detail = {name: rating_detail(features[name]) for name in self.needs}
        return Score(rating_value(progress) * rating_value(correctness), raw=correctness, detail=detail)
