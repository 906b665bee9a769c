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
    Extraction,
    Feature,
    Features,
    Json,
    JudgeHandle,
    Pending,
    Reason,
    Rollout,
    Sampler,
    Timeline,
)
from lookaway.core.extractor_base import FramelessExtraction
from lookaway.core.visits import why_gate_closed
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
TOKENS_OF_SECOND_LOOK = 256
"""What a second look adds to an answer."""


class SecondAnswer(Answer):
    """What is said about one second."""

    second: int
    judgeable: bool


class ReobservationAnswer(Answer):
    """What is said about all seconds."""

    subject: Annotated[str, Field(max_length=500)]
    seconds: list[SecondAnswer]


class SecondLookAnswer(ReobservationAnswer):
    """What is said about all seconds, and about the return."""

    before: Annotated[str, Field(max_length=500)]
    after: Annotated[str, Field(max_length=500)]
    place_judgeable: bool
    state_judgeable: bool


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

    def closes(self, rollout: Rollout) -> bool:
        """Whether the rollout counts as not re-observed without a question; by default none does."""
        return False

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStageReobservation(Reobservation):
    """The same, with a second look at videos whose first answer has no return, as WRBench's published gate has it.

    The second answer replaces the first: the subject must be seen, lost and seen again by it, and it must say that both
    place and state can be judged after the return. Some cases count as not re-observed without a question.
    """

    name: ClassVar[str] = "two_stage_reobservation"
    arrays: ClassVar[Mapping[str, str]] = {
        **Reobservation.arrays,
        "is_supported": "bool [repeats]: whether the return can be judged by place and state; true in a first answer",
    }

    second_prompts: Annotated[tuple[Prompt, ...], "prompt files of the second question, in order"] = (
        Prompt.named("reobservation"),
        Prompt.named("reobservation_second_look"),
    )
    closed_cases: Annotated[tuple[str, ...], "parts of the ids of cases that count as not re-observed"] = ()

    def closes(self, rollout: Rollout) -> bool:
        """Whether its case counts as not re-observed, whatever the video shows."""
        return any(part in rollout.case.id for part in self.closed_cases)

    def questions(self, rollout: Rollout) -> tuple[TypedQuestion[ReobservationAnswer], ...]:
        """Both questions; none where the case is closed."""
        return () if self.closes(rollout) else (self.question_about((), rollout), self.second_question((), rollout))

    def conditional_questions(self, rollout: Rollout) -> int:
        """The second one."""
        return 0 if self.closes(rollout) else self.judge.repeats

    def second_question(self, seconds: tuple[int, ...], rollout: Rollout) -> TypedQuestion[ReobservationAnswer]:
        """The question of the second look."""
        prompts = self.second_prompts if self.subject is None else (*self.second_prompts, self.subject)
        return replace(
            self.question_about(seconds, rollout),
            name=f"{self.name}.second",
            prompts=prompts,
            answer=SecondLookAnswer,
            more_tokens=TOKENS_PER_SECOND * len(seconds) + TOKENS_OF_SECOND_LOOK,
        )

    def load_with(self, client: JudgeHandle) -> LoadedJudgeFeature:
        """The extractor, with the client of its judge."""
        return LoadedTwoStageReobservation(self, client)

    def answered(
        self, answers: Sequence[Sequence[ReobservationAnswer]]
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """The answer that decides."""
        arrays, facts = Reobservation.answered(self, answers)
        return {**arrays, "is_supported": np.array([_is_supported(answer) for answer in answers[0]], np.bool_)}, facts


def _is_supported(answer: ReobservationAnswer) -> bool:
    return not isinstance(answer, SecondLookAnswer) or (answer.place_judgeable and answer.state_judgeable)


@dataclass(frozen=True, slots=True)
class LoadedTwoStageReobservation(LoadedReobservation):
    """Asks once, and once more where the first answer has no return."""

    recipe: TwoStageReobservation

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Extraction:
        """Request the frames that the judge will see; none where the case is closed."""
        if self.recipe.closes(rollout):
            return FramelessExtraction(lambda: _unasked(self.recipe.judge.repeats))
        return self.extraction(rollout, timeline)

    def extraction(self, rollout: Rollout, timeline: Timeline) -> JudgeFeatureExtraction:
        """Asks about the seconds that have frames, if need be twice."""
        first = LoadedReobservation.extraction(self, rollout, timeline)
        seconds = whole_seconds(timeline.times_seconds[sorted(first.request.indices)].tolist())
        second = self.recipe.second_question(seconds, rollout)
        return TwoStageExtraction(first.recipe, first.client, (*first.questions, second), first.request)


@dataclass(frozen=True, slots=True)
class TwoStageExtraction(JudgeFeatureExtraction):
    """Collects the frames, and sends the first question."""

    def finish(self) -> PendingSecondLook:
        """Send the first question."""
        first, second = (replace(self, questions=(question,)) for question in self.questions)
        return PendingSecondLook(JudgeFeatureExtraction.finish(first), second)


@dataclass(frozen=True, slots=True)
class PendingSecondLook:
    """The first answer, which is still to come, and the question that may follow it."""

    first: Pending
    second: TwoStageExtraction

    def result(self) -> Feature:
        """The first answer if it has a return, else the second."""
        feature = self.first.result()
        if why_gate_closed(feature) is None:
            return feature
        second = JudgeFeatureExtraction.finish(self.second).result()
        return Feature(
            second.arrays, {**second.detail, "replies": feature.detail["replies"] + second.detail["replies"]}
        )


def _unasked(repeats: int) -> Feature:
    """No second of the video, so that it is never out of view."""
    arrays = {
        "judgeable": np.zeros((0, repeats), np.bool_),
        "seconds": np.zeros(0, np.int64),
        "frame_indices": np.zeros(0, np.int64),
        "is_supported": np.ones(repeats, np.bool_),
    }
    return Feature(arrays, {"subjects": [], "agreement": [], "replies": []})


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
