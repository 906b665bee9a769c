"""The recipe of what a judge says about a rollout: which questions, which frames, whom to ask."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    ExtractorBase,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Json,
    JudgeHandle,
    JudgeModel,
    JudgeRequest,
    Picture,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
    UserError,
)
from lookaway.io.sampling import UniformFrames
from lookaway.judges.errors import Unreadable
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Question
from lookaway.judges.reply import Reply, read_reply

CORRECTION = "Your answer could not be read. {complaint} Answer the same question again, with the JSON object alone."

Read = TypeVar("Read")


def wait_for_answer(
    asking: JudgeHandle, question: Question[Read], request: JudgeRequest, future: Future[Json], keys: list[Json]
) -> Read:
    """The answer to a question that was put, asked for once more where it cannot be read; `keys` gets its replies'."""
    try:
        reply = _checked(future.result(), request, keys)
        try:
            return question.read(reply)
        except Unreadable as error:
            request = request.corrected(reply.text, CORRECTION.format(complaint=error))
        return question.read(_checked(asking.ask(request).result(), request, keys))
    except Unreadable as error:
        raise Unmeasurable(
            Reason.JUDGE_FAILED, f"{question.name}: the judge's answer cannot be read, nor its correction. {error}"
        ) from error
    except Unmeasurable as error:
        raise Unmeasurable(error.reason, f"{question.name}: {error}") from error


def _checked(completion: Json, request: JudgeRequest, keys: list[Json]) -> Reply:
    """The reply, where it is of the model that the lock names."""
    keys.append(request.key())
    reply, expected = read_reply(completion), request.judge.reported
    if expected and reply.model != expected:
        raise Unmeasurable(
            Reason.JUDGE_FAILED,
            f"another model answered: {reply.model!r}, expected {expected!r}. Its answers do not belong together "
            "with the others; name one exact model, or start a new run.",
        )
    return reply


SYSTEM = Prompt.named("system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(ExtractorBase):
    """What a judge says about a rollout; recipes of this kind differ in their questions and in their arrays."""

    bytes_per_frame: ClassVar[float] = 64.0

    judge: Annotated[JudgeModel, "who is asked, and how"] = JudgeModel()
    frames: Annotated[Sampler, "which frames the judge sees"] = UniformFrames(8)
    height: Annotated[int, "of the frames as the judge sees them; smaller videos are not enlarged"] = 480
    system: Annotated[Prompt, "what a judge is told before any question"] = SYSTEM

    @abstractmethod
    def questions(self, rollout: Rollout) -> tuple[Question[Any], ...]:
        """What is asked about a rollout."""

    @abstractmethod
    def answered(self, answers: Sequence[Sequence[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """Arrays and facts from the answers, [questions][repeats]."""

    @abstractmethod
    def lacks(self, rollout: Rollout) -> Abstention | None:
        """What the questions need and the case does not have."""

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Nobody to ask, or nothing to ask about."""
        if not self.judge.model:
            return Abstention(
                Reason.NO_JUDGE, "no judge is named; name one with --judge-model, or LOOKAWAY_JUDGE_MODEL."
            )
        return self.lacks(rollout)

    def questions_per_rollout(self, rollout: Rollout) -> int:
        """How many questions it puts, repeats included."""
        return len(self.questions(rollout)) * self.judge.repeats

    def load(self) -> NoReturn:
        """It cannot be loaded without somebody to ask."""
        raise UserError(f"{self.name} asks a judge: load it with `load_with`.")

    def load_with(self, asking: JudgeHandle) -> LoadedJudged:
        """Get ready to ask."""
        return LoadedJudged(self, asking)


@dataclass(frozen=True, slots=True)
class LoadedJudged:
    """Asks about one rollout after the other."""

    recipe: Judged
    asking: JudgeHandle

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> JudgedExtraction:
        """Wait for the frames."""
        indices = frozenset(self.recipe.frames.indices(timeline, rollout))
        request = FrameRequest(indices, min(self.recipe.height, timeline.height))
        return JudgedExtraction(self.recipe, self.asking, self.recipe.questions(rollout), request)


@dataclass(frozen=True, slots=True)
class JudgedExtraction:
    """Collects the frames that the judge will see."""

    recipe: Judged
    asking: JudgeHandle
    questions: tuple[Question[Any], ...]
    request: FrameRequest
    pictures: list[Picture] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Keep it."""
        self.pictures.append(Picture(frame.index, round(frame.time_seconds, 6), frame.pixels))

    def finish(self) -> PendingAnswers:
        """Put all questions."""
        pictures, judge = tuple(self.pictures), self.recipe.judge
        asked = [
            [question.request(self.recipe.system, judge, pictures, repeat) for repeat in range(judge.repeats)]
            for question in self.questions
        ]
        put = [[(request, self.asking.ask(request)) for request in requests] for requests in asked]
        return PendingAnswers(self.recipe, self.asking, self.questions, put)


@dataclass(frozen=True, slots=True)
class PendingAnswers:
    """Questions that were put."""

    recipe: Judged
    asking: JudgeHandle
    questions: tuple[Question[Any], ...]
    put: list[list[tuple[JudgeRequest, Future[Json]]]]

    def result(self) -> Feature:
        """Wait for all answers, and read them."""
        keys: list[Json] = []
        answers = []
        for question, requests in zip(self.questions, self.put, strict=True):
            answers.append(
                [wait_for_answer(self.asking, question, request, future, keys) for request, future in requests]
            )
        arrays, facts = self.recipe.answered(answers)
        indices = [picture.index for picture in self.put[0][0][0].pictures]
        return Feature(
            {**arrays, "frame_indices": np.array(indices, np.int64)},
            {**facts, "model": self.recipe.judge.reported, "replies": keys},
        )


def agreement(answers: Sequence[Hashable]) -> float | None:
    """Share of pairs of repeats that say the same; `None` where a question was put once.

    >>> agreement([True, True, False])
    0.3333333333333333
    """
    count = len(answers)
    if count < 2:
        return None
    return sum(same * (same - 1) for same in Counter(answers).values()) / (count * (count - 1))
