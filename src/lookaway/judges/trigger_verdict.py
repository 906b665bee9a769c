"""Whether a video poses the memory test at all: whether something leaves, and comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Json, Reason, Rollout
from lookaway.judges.judged import Judged, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion


class TriggerAnswer(Answer):
    """What is said about the challenge."""

    triggered: bool
    confidence: Annotated[float, Field(ge=0, le=1)]
    reason: Annotated[str, Field(max_length=2000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerVerdict(Judged):
    """Whether the video poses the memory test that its captions describe."""

    name: ClassVar[str] = "trigger_verdict"
    arrays: ClassVar[Mapping[str, str]] = {
        "triggered": "bool [repeats]: whether the test is posed",
        "confidence": "float64 [repeats]: of the judge, from 0 to 1",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    prompts: Annotated[tuple[Prompt, ...], "what is asked"] = (
        Prompt.named("trigger"),
        Prompt.named("trigger_object"),
    )

    @classmethod
    def about(cls, what: str, **fields: Any) -> Self:
        """The question for one kind of memory: human, object, environment or causal."""
        return cls(prompts=(Prompt.named("trigger"), Prompt.named(f"trigger_{what}")), **fields)

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """Captions of a length that can be shown."""
        if not rollout.case.prompt:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} has no caption that says what should happen."
            )
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[TriggerAnswer]]:
        """One."""
        return (TypedQuestion(name="trigger", prompts=self.prompts, answer=TriggerAnswer, material=_material(rollout)),)

    def answered(self, answers: Sequence[Sequence[TriggerAnswer]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One verdict a repeat."""
        said = answers[0]
        arrays = {
            "triggered": np.array([answer.triggered for answer in said]),
            "confidence": np.array([answer.confidence for answer in said]),
        }
        facts = {
            "reasons": [answer.reason for answer in said],
            "agreement": agreement([answer.triggered for answer in said]),
        }
        return arrays, facts


def _material(rollout: Rollout) -> dict[str, Json]:
    target = rollout.case.target
    return {
        "caption segments": list(rollout.case.prompt),
        **({"target": target.name} if target is not None and target.name else {}),
    }
