"""Metrics from a judge's answers: ratings, probe questions and question banks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Abstention, Feature, Features, Json, MetricBase, Outcome, Reason, Rollout, Score, Unit

LOWEST, HIGHEST = 1, 5
RATING = (f"{__name__}:LOWEST", f"{__name__}:HIGHEST")
"""What the lock of whoever takes ratings holds."""


def middle_rating(feature: Feature) -> float:
    """The median over repeats, from 1 to 5."""
    return float(np.median(feature["rating"]))


def rating_value(rating: float) -> float:
    """From 0 to 1.

    >>> rating_value(1), rating_value(4), rating_value(5)
    (0.0, 0.75, 1.0)
    """
    return (rating - LOWEST) / (HIGHEST - LOWEST)


def rating_detail(feature: Feature) -> dict[str, Json]:
    """The ratings of all repeats, and the judge's replies."""
    return {"ratings": feature["rating"].tolist(), **feature.detail}


@dataclass(frozen=True, slots=True)
class StateProgress(MetricBase):
    """How far an event advanced out of sight, as a judge rates it: (rating - 1) / 4, the median over repeats.

    The raw value is the rating, from 1 to 5.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be reached or parsed; `judge_refused`
    where it declined to answer; `missing_input` without the text of an event.
    """

    name = "state_progress"
    raw_unit = "rating from 1 to 5"
    needs = ("progress_rating",)
    constants = RATING

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rating = middle_rating(features["progress_rating"])
        return Score(rating_value(rating), raw=rating, detail=rating_detail(features["progress_rating"]))


@dataclass(frozen=True, slots=True)
class ProgressCorrectness(MetricBase):
    """Progress times plausibility: g s, with g = (progress rating - 1) / 4 and s = (correctness rating - 1) / 4.

    An event that did not advance is not correct, however plausible a standstill looks. Ratings are medians over
    repeats; the raw value is the rating of correctness or, with `raw_is_product`, the product on the scale of ratings,
    1 + 4 g s. `detail` holds both ratings.

    Abstains: `no_judge` where none is named; `judge_failed` where it could not be reached or parsed; `judge_refused`
    where it declined to answer; `missing_input` without the text of an event.
    """

    name = "progress_correctness"
    raw_unit = "rating from 1 to 5"
    needs = ("progress_rating", "correctness_rating")
    constants = RATING

    raw_is_product: Annotated[
        bool, "whether the raw value is the product on the scale of ratings, of which the value is the normalised one"
    ] = False

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        progress, correctness = (middle_rating(features[name]) for name in self.needs)
        detail = {name: rating_detail(features[name]) for name in self.needs}
        value = rating_value(progress) * rating_value(correctness)
        raw = LOWEST + (HIGHEST - LOWEST) * value if self.raw_is_product else correctness
        return Score(value, raw=raw, detail=detail)


@dataclass(frozen=True, slots=True)
class ProbeSupport(MetricBase):
    """Mean over probes of the probability of the favourable answer.

    That is `p_yes` for positive probes and 1 - `p_yes` for negative ones; `p_yes` is the median over repeats. All
    probes have equal weight.

    Abstains: `missing_input` without the text of an event, or where a named probe was not asked; `gate_closed` where
    the probes are about a return that there is not; a reason of the judge where one was not answered.
    """

    name = "probe_support"
    unit = "probability"
    needs = ("probe_probabilities",)

    probes: Annotated[tuple[str, ...], "names of the probes that count; all that were asked where none is named"] = ()

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


@dataclass(frozen=True, slots=True)
class QuestionPassRate(MetricBase):
    """Share of questions answered as for a correct video: positive ones with yes, negative ones with no.

    All questions that are answered have equal weight; one that was asked several times counts with the share of its
    answers that pass. Whether a reply may leave questions out is for the extractor to say.

    Abstains: `not_applicable` where the bank has no question of the dimension; `judge_failed` where none of them is
    answered, and a reason of the judge where it did not answer as it has to.
    """

    name = "question_pass_rate"
    unit = "share"
    needs = ("question_verdicts",)

    dimension: Annotated[str | None, "the questions that count; all where none is named"] = None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["question_verdicts"]
        dimensions = list(feature.detail["dimensions"])
        if self.dimension not in (None, *dimensions):
            known = ", ".join(sorted(set(dimensions)))
            return Abstention(
                Reason.NOT_APPLICABLE, f"the bank has no question of {self.dimension!r}; its dimensions: {known}."
            )
        answered = feature["is_answered"]
        passed = (feature["says_yes"] == feature["is_positive"][:, None]) & answered
        units = tuple(
            Unit(
                f"question{number}",
                Score(float(passed[row].sum() / answered[row].sum()), detail=_question_detail(feature, row)),
            )
            for row, number in enumerate(feature["question_ids"].tolist())
            if self.dimension in (None, dimensions[row]) and answered[row].any()
        )
        values = [unit.outcome.value for unit in units if isinstance(unit.outcome, Score)]
        if not values:
            return Abstention(Reason.JUDGE_FAILED, "the judge answers no question that counts here.")
        return Score(math.fsum(values) / len(values), units=units, detail={"questions": len(values)})


def _question_detail(feature: Feature, row: int) -> dict[str, Json]:
    """What was asked, and what the judge said each time that it answered."""
    repeats = np.flatnonzero(feature["is_answered"][row]).tolist()
    return {
        "dimension": feature.detail["dimensions"][row],
        "question": feature.detail["questions"][row],
        "is_positive": bool(feature["is_positive"][row]),
        "says_yes": feature["says_yes"][row, repeats].tolist(),
        "reasons": [feature.detail["reasons"][repeat][row] for repeat in repeats],
    }
