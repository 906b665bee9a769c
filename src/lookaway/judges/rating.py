"""Ratings from 1 to 5 of what happened out of sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Json, Reason, Rollout
from lookaway.judges.judge_feature import JudgeFeature, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion


class RatingAnswer(Answer):
    """A rating and why."""

    rating: Annotated[int, Field(ge=1, le=5)]
    reason: Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rating(JudgeFeature):
    arrays: ClassVar[Mapping[str, str]] = {
        "rating": "int64 [repeats]: from 1 to 5",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = ()

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """The case needs the text of an event, of limited length."""
        if not rollout.case.prompt:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} has no caption that says what should happen."
            )
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[RatingAnswer]]:
        """One question."""
        return (TypedQuestion(name=self.name, prompts=self.prompts, answer=RatingAnswer, material=_material(rollout)),)

    def answered(self, answers: Sequence[Sequence[RatingAnswer]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One rating per repeat."""
        ratings = [answer.rating for answer in answers[0]]
        facts = {"reasons": [answer.reason for answer in answers[0]], "agreement": agreement(ratings)}
        return {"rating": np.array(ratings, np.int64)}, facts


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRating(_Rating):
    """How far the process advanced out of sight, from 1 to 5."""

    name: ClassVar[str] = "progress_rating"

    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (
        Prompt.named("rating"),
        Prompt.named("rating_progress"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessRating(_Rating):
    """How physically plausible the change out of sight is, from 1 to 5."""

    name: ClassVar[str] = "correctness_rating"

    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (
        Prompt.named("rating"),
        Prompt.named("rating_correctness"),
    )


def _material(rollout: Rollout) -> dict[str, Json]:
    return {"event": list(rollout.case.prompt)}
