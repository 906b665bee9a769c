"""Scores of a return, as a judge rates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Feature, Features, Floats, MetricBase, Outcome, Reason, Rollout, Score
from lookaway.metrics.known_returns import is_closed, keys_of

HIGHEST_PART = 5


@dataclass(frozen=True, slots=True)
class ReturnRatingScore(MetricBase):
    """What a judge gives a return, from 0 to 100: the median over repeats of the number that the judge writes.

    `detail` has the ratings of appearance, presence, scene and view, and the judge's reasons. The wording of the
    question is of this package, so that the numbers of publications are not met exactly.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be reached or parsed; `judge_refused`
    where it declined to answer; `not_applicable` where `needs_loop` is set and the action does not lead back.
    """

    name = "return_rating_overall"
    unit = "points"
    range = (0.0, 100.0)
    needs = ("return_rating",)

    needs_loop: Annotated[bool, "refuses cases whose action is known and does not lead back"] = True

    def declines(self, rollout: Rollout) -> Abstention | None:
        """The action must lead back, where it is known."""
        keys = keys_of(rollout.case.action)
        if not self.needs_loop or keys is None or is_closed(keys):
            return None
        return Abstention(Reason.NOT_APPLICABLE, f"the action {rollout.case.action!r} does not lead back to its start.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rating = features["return_rating"]
        return Score(
            float(np.median(self.of_repeats(rating))), detail={"parts": rating["parts"].tolist(), **rating.detail}
        )

    def of_repeats(self, rating: Feature) -> Floats:
        """[repeats] the score of each repeat."""
        return np.asarray(rating["overall"], np.float64)


@dataclass(frozen=True, slots=True)
class ReturnRatingWeighted(ReturnRatingScore):
    """The weighted mean of the ratings of appearance, presence, scene and view, from 0 to 100; the median over repeats.

    A judge does not reliably apply the weights that it is told, so that this one is computed.

    Abstains: `no_judge`, `judge_failed`, `judge_refused` and `not_applicable` as the judge's own number does.
    """

    name = "return_rating_weighted"
    constants = (f"{__name__}:HIGHEST_PART",)

    weights: Annotated[tuple[float, float, float, float], "of appearance, presence, scene and view"] = (
        0.45,
        0.25,
        0.10,
        0.20,
    )

    def of_repeats(self, rating: Feature) -> Floats:
        """[repeats] the weighted mean of each repeat."""
        return np.asarray(100 * (rating["parts"] / HIGHEST_PART) @ np.array(self.weights))
