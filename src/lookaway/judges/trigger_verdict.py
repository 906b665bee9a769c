"""Whether a video triggers the memory test: whether something leaves the view and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Json, Reason, Rollout
from lookaway.judges.judge_feature import JudgeFeature, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion


class TriggerAnswer(Answer):
    """What is said about the challenge."""

    triggered: bool
    confidence: Annotated[float, Field(ge=0, le=1)]
    reason: Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerVerdict(JudgeFeature):
    """Whether the video triggers the memory test that its captions describe."""

    name: ClassVar[str] = "trigger_verdict"
    asks_for_gate: ClassVar[bool] = True
    arrays: ClassVar[Mapping[str, str]] = {
        "triggered": "bool [repeats]: whether the test is posed",
        "confidence": "float64 [repeats]: of the judge, from 0 to 1",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (
        Prompt.named("trigger"),
        Prompt.named("trigger_object"),
    )

    @classmethod
    def about(cls, what: str, **fields: Any) -> Self:
        """The question for one kind of memory: human, object, environment or causal."""
        return cls(prompts=(Prompt.named("trigger"), Prompt.named(f"trigger_{what}")), **fields)

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """The case needs captions of limited length."""
        if not rollout.case.prompt:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} has no caption that says what should happen."
            )
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[TriggerAnswer]]:
        """One question."""
        return (TypedQuestion(name="trigger", prompts=self.prompts, answer=TriggerAnswer, material=_material(rollout)),)

    def answered(self, answers: Sequence[Sequence[TriggerAnswer]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One verdict per repeat."""
        repeats = answers[0]
        arrays = {
            "triggered": np.array([answer.triggered for answer in repeats]),
            "confidence": np.array([answer.confidence for answer in repeats]),
        }
        facts = {
            "reasons": [answer.reason for answer in repeats],
            "agreement": agreement([answer.triggered for answer in repeats]),
        }
        return arrays, facts


def _material(rollout: Rollout) -> dict[str, Json]:
    target = rollout.case.target
    return {
        "caption segments": list(rollout.case.prompt),
        **({"target": target.name} if target is not None and target.name else {}),
    }
