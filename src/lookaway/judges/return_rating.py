"""Ratings of a return: whether an object, its surroundings and the view are as in the first frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Json, Rollout, Sampler
from lookaway.io.sampling import FirstAndLast
from lookaway.judges.judge_feature import JudgeFeature, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion

PARTS = ("appearance", "presence", "scene", "view")
Part = Annotated[int, Field(ge=0, le=5)]


class ReturnAnswer(Answer):
    """Ratings of the parts, of the whole, and why."""

    appearance: Part
    presence: Part
    scene: Part
    view: Part
    overall: Annotated[int, Field(ge=0, le=100)]
    reason: Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnRating(JudgeFeature):
    """How much of the first frame a judge finds again in the last ones, as Echo-Memory asks about open domains."""

    name: ClassVar[str] = "return_rating"
    arrays: ClassVar[Mapping[str, str]] = {
        "parts": "int64 [repeats, 4]: appearance, presence, scene and view, from 0 to 5",
        "overall": "int64 [repeats]: what the judge gives the whole, from 0 to 100",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    frames: Annotated[Sampler, "which frames the judge sees"] = FirstAndLast(4)
    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (Prompt.named("return_rating"),)

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """It needs only the video; the name of the object, where there is one, must not be too long."""
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[ReturnAnswer]]:
        """One question."""
        return (TypedQuestion(name=self.name, prompts=self.prompts, answer=ReturnAnswer, material=_material(rollout)),)

    def answered(self, answers: Sequence[Sequence[ReturnAnswer]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One row per repeat."""
        parts = [[getattr(answer, part) for part in PARTS] for answer in answers[0]]
        overall = [answer.overall for answer in answers[0]]
        facts = {"reasons": [answer.reason for answer in answers[0]], "agreement": agreement(overall)}
        return {"parts": np.array(parts, np.int64), "overall": np.array(overall, np.int64)}, facts


def _material(rollout: Rollout) -> dict[str, Json]:
    target = rollout.case.target
    return {} if target is None else {"object": target.name}
