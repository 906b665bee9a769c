"""Ratings from 1 to 5 of what went on while nobody looked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Json, Reason, Rollout
from lookaway.judges.judged import Judged, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion


class RatingAnswer(Answer):
    """A rating and why."""

    rating: Annotated[int, Field(ge=1, le=5)]
    reason: Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rating(Judged):
    arrays: ClassVar[Mapping[str, str]] = {
        "rating": "int64 [repeats]: from 1 to 5",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    prompts: Annotated[tuple[Prompt, ...], "what is asked"] = ()

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """The text of an event, of a length that can be shown."""
        if not rollout.case.prompt:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} has no caption that says what should happen."
            )
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[RatingAnswer]]:
        """One."""
        return (TypedQuestion(name=self.name, prompts=self.prompts, answer=RatingAnswer, material=_material(rollout)),)

    def answered(self, answers: Sequence[Sequence[RatingAnswer]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One rating a repeat."""
        ratings = [answer.rating for answer in answers[0]]
        facts = {"reasons": [answer.reason for answer in answers[0]], "agreement": agreement(ratings)}
        return {"rating": np.array(ratings, np.int64)}, facts


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressRating(_Rating):
    """How far the process advanced that went on out of sight, from 1 to 5."""

    name: ClassVar[str] = "progress_rating"

    prompts: Annotated[tuple[Prompt, ...], "what is asked"] = (
        Prompt.named("rating"),
        Prompt.named("rating_progress"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectnessRating(_Rating):
    """How plausible what went on out of sight is physically, from 1 to 5."""

    name: ClassVar[str] = "correctness_rating"

    prompts: Annotated[tuple[Prompt, ...], "what is asked"] = (
        Prompt.named("rating"),
        Prompt.named("rating_correctness"),
    )


def _material(rollout: Rollout) -> dict[str, Json]:
    return {"event": list(rollout.case.prompt)}
