"""The seconds in which the main subject can be judged, which tell whether it was lost and seen again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import (
    Abstention,
    Json,
    JudgeHandle,
    Reason,
    Rollout,
    Sampler,
    Timeline,
)
from lookaway.io.sampling import AtFps
from lookaway.judges.errors import Unreadable
from lookaway.judges.judge_feature import (
    JudgeFeature,
    JudgeFeatureExtraction,
    LoadedJudgeFeature,
    agreement,
)
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion

TOKENS_PER_SECOND = 32
"""More than enough for one row of an answer."""


class SecondAnswer(Answer):
    """What is said about one second."""

    second: int
    judgeable: bool


class ReobservationAnswer(Answer):
    """What is said about all seconds."""

    subject: Annotated[str, Field(max_length=500)]
    seconds: list[SecondAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reobservation(JudgeFeature):
    """Whether the judge can tell, in each whole second, where the main subject is and what it does."""

    name: ClassVar[str] = "reobservation"
    asks_for_gate: ClassVar[bool] = True
    arrays: ClassVar[Mapping[str, str]] = {
        "judgeable": "bool [seconds, repeats]: whether the main subject can be judged in that second",
        "seconds": "int64 [seconds]: the whole seconds of which frames were shown",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    frames: Annotated[Sampler, "which frames the judge sees"] = AtFps(2.0)
    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (Prompt.named("reobservation"),)
    subject: Annotated[Prompt | None, "prompt file that tells the subject's name; without it the judge finds it"] = None

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """It needs only the video, and the name of the subject if it tells it."""
        return None if self.subject is None else lacks_subject(rollout)

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[ReobservationAnswer], ...]:
        """One question; its seconds are known once its frames are."""
        return (self.question_about((), rollout),)

    def question_about(self, seconds: tuple[int, ...], rollout: Rollout) -> TypedQuestion[ReobservationAnswer]:
        """The question whose answer has each of these seconds once, in order."""
        return TypedQuestion(
            name=self.name,
            prompts=self.prompts if self.subject is None else (*self.prompts, self.subject),
            answer=ReobservationAnswer,
            material={**({} if self.subject is None else subject_of(rollout)), "seconds": list(seconds)},
            more_tokens=TOKENS_PER_SECOND * len(seconds),
            check=partial(_check_seconds, seconds),
        )

    def load_with(self, client: JudgeHandle) -> LoadedJudgeFeature:
        """The extractor, with the client of its judge."""
        return LoadedReobservation(self, client)

    def answered(
        self, answers: Sequence[Sequence[ReobservationAnswer]]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One row per second, one column per repeat."""
        repeats = answers[0]
        rows = list(zip(*(answer.seconds for answer in repeats), strict=True))
        judgeable = [[repeat.judgeable for repeat in row] for row in rows]
        arrays = {
            "judgeable": np.array(judgeable, np.bool_),
            "seconds": np.array([row[0].second for row in rows], np.int64),
        }
        facts = {
            "subjects": [answer.subject for answer in repeats],
            "agreement": [agreement(row) for row in judgeable],
        }
        return arrays, facts


@dataclass(frozen=True, slots=True)
class LoadedReobservation(LoadedJudgeFeature):
    """Asks about the seconds for which it has frames."""

    recipe: Reobservation

    def extraction(self, rollout: Rollout, timeline: Timeline) -> JudgeFeatureExtraction:
        """Asks the question about the seconds that have frames."""
        extraction = LoadedJudgeFeature.extraction(self, rollout, timeline)
        seconds = whole_seconds(timeline.times_seconds[sorted(extraction.request.indices)].tolist())
        return replace(extraction, questions=(self.recipe.question_about(seconds, rollout),))


def lacks_subject(rollout: Rollout) -> Abstention | None:
    """Why the name of the subject cannot be told, or `None`."""
    if rollout.case.target is None or not rollout.case.target.name:
        return Abstention(Reason.MISSING_INPUT, f"the case {rollout.case.id} does not name its subject.")
    return too_long(subject_of(rollout))


def subject_of(rollout: Rollout) -> dict[str, Json]:
    """The name of the subject as material of a question."""
    return {"subject": None if rollout.case.target is None else rollout.case.target.name}


def whole_seconds(times_seconds: Iterable[float]) -> tuple[int, ...]:
    """The whole seconds that contain frames, with times rounded to hundredths as the judge sees them.

    >>> whole_seconds([0.0, 0.5, 0.9996, 1.5])
    (0, 1)
    """
    return tuple(sorted({int(round(time, 2)) for time in times_seconds}))


def _check_seconds(expected: tuple[int, ...], answer: ReobservationAnswer) -> None:
    found = tuple(row.second for row in answer.seconds)
    if found != expected:
        raise Unreadable(
            f"`seconds` tells of the seconds {_listed(found)}; expected are {_listed(expected)}, each once."
        )


def _listed(seconds: Sequence[int]) -> str:
    return ", ".join(str(second) for second in seconds[:100]) or "none"
