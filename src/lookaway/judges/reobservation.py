"""In which seconds the main subject can be judged, from which follows whether it was lost and seen again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, Features, Json, JudgeHandle, Rollout, Sampler, Timeline
from lookaway.io.sampling import AtFps
from lookaway.judges.errors import Unreadable
from lookaway.judges.judged import Judged, JudgedExtraction, LoadedJudged, agreement
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion

TOKENS_PER_SECOND = 32
"""What a row of an answer takes, and some more."""


class SecondAnswer(Answer):
    """What is said about one second."""

    second: int
    judgeable: bool


class ReobservationAnswer(Answer):
    """What is said about all seconds."""

    subject: Annotated[str, Field(max_length=500)]
    seconds: list[SecondAnswer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reobservation(Judged):
    """Whether the judge can tell, in each whole second, where the main subject is and what it does."""

    name: ClassVar[str] = "reobservation"
    arrays: ClassVar[Mapping[str, str]] = {
        "judgeable": "bool [seconds, repeats]: whether the main subject can be judged in that second",
        "seconds": "int64 [seconds]: the whole seconds of which frames were shown",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    frames: Annotated[Sampler, "which frames the judge sees"] = AtFps(2.0)
    prompts: Annotated[tuple[Prompt, ...], "what is asked"] = (Prompt.named("reobservation"),)

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """It needs the video alone."""
        return None

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[ReobservationAnswer]]:
        """One; its seconds are known when its frames are."""
        return (self.question_about(()),)

    def question_about(self, seconds: tuple[int, ...]) -> TypedQuestion[ReobservationAnswer]:
        """Whose answer holds each of these seconds once, in order."""
        return TypedQuestion(
            name=self.name,
            prompts=self.prompts,
            answer=ReobservationAnswer,
            material={"seconds": list(seconds)},
            more_tokens=TOKENS_PER_SECOND * len(seconds),
            check=partial(_check_seconds, seconds),
        )

    def load_with(self, asking: JudgeHandle) -> LoadedJudged:
        """Get ready to ask."""
        return LoadedReobservation(self, asking)

    def answered(
        self, answers: Sequence[Sequence[ReobservationAnswer]]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One row a second, one column a repeat."""
        said = answers[0]
        rows = list(zip(*(answer.seconds for answer in said), strict=True))
        judgeable = [[repeat.judgeable for repeat in row] for row in rows]
        arrays = {
            "judgeable": np.array(judgeable, np.bool_),
            "seconds": np.array([row[0].second for row in rows], np.int64),
        }
        facts = {
            "subjects": [answer.subject for answer in said],
            "agreement": [agreement(repeats) for repeats in judgeable],
        }
        return arrays, facts


@dataclass(frozen=True, slots=True)
class LoadedReobservation(LoadedJudged):
    """Asks about the seconds of which it has frames."""

    recipe: Reobservation

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> JudgedExtraction:
        """Wait for the frames."""
        watch = LoadedJudged.start(self, rollout, timeline, features)
        seconds = whole_seconds(timeline.times_seconds[sorted(watch.request.indices)].tolist())
        return replace(watch, questions=(self.recipe.question_about(seconds),))


def whole_seconds(times_seconds: Iterable[float]) -> tuple[int, ...]:
    """The seconds in which frames lie, as their times are told to a judge: to the hundredth.

    >>> whole_seconds([0.0, 0.5, 0.9996, 1.5])
    (0, 1)
    """
    return tuple(sorted({int(round(time, 2)) for time in times_seconds}))


def _check_seconds(asked: tuple[int, ...], answer: ReobservationAnswer) -> None:
    found = tuple(row.second for row in answer.seconds)
    if found != asked:
        raise Unreadable(f"`seconds` tells of the seconds {_listed(found)}; expected are {_listed(asked)}, each once.")


def _listed(seconds: Sequence[int]) -> str:
    return ", ".join(str(second) for second in seconds[:100]) or "none"
