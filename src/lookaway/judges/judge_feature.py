"""Features that a judge provides: which questions about a rollout, which frames, which model."""

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
    Extraction,
    ExtractorBase,
    Feature,
    Features,
    Frame,
    FrameRequest,
    Json,
    JudgeHandle,
    JudgeModel,
    JudgeRequest,
    Pending,
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
    client: JudgeHandle, question: Question[Read], request: JudgeRequest, future: Future[Json], keys: list[Json]
) -> Read:
    """The answer to a request that was sent; asks for a correction if it cannot be read. Adds reply keys to `keys`."""
    try:
        reply = _checked(future.result(), request, keys)
        try:
            return question.read(reply)
        except Unreadable as error:
            request = request.corrected(reply.text, CORRECTION.format(complaint=error))
        return question.read(_checked(client.ask(request).result(), request, keys))
    except Unreadable as error:
        raise Unmeasurable(
            Reason.JUDGE_FAILED, f"{question.name}: neither the judge's answer nor its correction can be read. {error}"
        ) from error
    except Unmeasurable as error:
        raise Unmeasurable(error.reason, f"{question.name}: {error}") from error


def _checked(completion: Json, request: JudgeRequest, keys: list[Json]) -> Reply:
    """The reply, if it is from the model that the lock names."""
    keys.append(request.key())
    reply, expected = read_reply(completion), request.judge.reported
    if expected and reply.model != expected:
        raise Unmeasurable(
            Reason.JUDGE_FAILED,
            f"another model answered: found {reply.model!r}, expected {expected!r}. Answers of two models cannot be "
            "mixed; name one exact model, or start a new run.",
        )
    return reply


SYSTEM = Prompt.named("system")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFeature(ExtractorBase):
    """Base class of extractors that ask a judge; subclasses define the questions and the arrays."""

    bytes_per_frame: ClassVar[float] = 64.0
    asks_for_gate: ClassVar[bool] = False
    """Whether its answers decide which rollouts count: then the judge of gates is asked, if there is one."""

    judge: Annotated[JudgeModel, "which model is asked, and how"] = JudgeModel()
    frames: Annotated[Sampler, "which frames the judge sees"] = UniformFrames(8)
    height: Annotated[int, "height of the frames as the judge sees them; smaller videos are not enlarged"] = 480
    system: Annotated[Prompt, "the system prompt"] = SYSTEM

    @abstractmethod
    def questions(self, rollout: Rollout) -> tuple[Question[Any], ...]:
        """The questions about a rollout."""

    @abstractmethod
    def answered(self, answers: Sequence[Sequence[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """Arrays and facts from the answers, [questions][repeats]."""

    @abstractmethod
    def lacks(self, rollout: Rollout) -> Abstention | None:
        """Why the questions cannot be asked about this case, or `None`."""

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Decline without a judge, or if the case lacks what the questions need."""
        if not self.judge.model:
            return Abstention(
                Reason.NO_JUDGE, "no judge is named; name one with --judge-model or LOOKAWAY_JUDGE_MODEL."
            )
        return self.lacks(rollout)

    def questions_per_rollout(self, rollout: Rollout) -> int:
        """How many questions it asks at most, repeats included."""
        return len(self.questions(rollout)) * self.judge.repeats

    def conditional_questions(self, rollout: Rollout) -> int:
        """How many of them depend on an earlier answer; by default none."""
        return 0

    def load(self) -> NoReturn:
        """It cannot be loaded without a judge."""
        raise UserError(f"{self.name} needs a judge. Load it with `load_with`.")

    def load_with(self, client: JudgeHandle) -> LoadedJudgeFeature:
        """The extractor, with the client of its judge."""
        return LoadedJudgeFeature(self, client)


@dataclass(frozen=True, slots=True)
class LoadedJudgeFeature:
    """Asks a judge about rollouts."""

    recipe: JudgeFeature
    client: JudgeHandle

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Extraction:
        """Request the frames that the judge will see; or an `Unmeasurable`."""
        return self.extraction(rollout, timeline)

    def extraction(self, rollout: Rollout, timeline: Timeline) -> JudgeFeatureExtraction:
        """Asks all questions about the frames of the recipe."""
        indices = frozenset(self.recipe.frames.indices(timeline, rollout))
        request = FrameRequest(indices, min(self.recipe.height, timeline.height))
        return JudgeFeatureExtraction(self.recipe, self.client, self.recipe.questions(rollout), request)


@dataclass(frozen=True, slots=True)
class JudgeFeatureExtraction:
    """Collects the frames that the judge will see."""

    recipe: JudgeFeature
    client: JudgeHandle
    questions: tuple[Question[Any], ...]
    request: FrameRequest
    pictures: list[Picture] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Collect a frame."""
        self.pictures.append(Picture(frame.index, round(frame.time_seconds, 6), frame.pixels))

    def finish(self) -> Pending:
        """Send all questions."""
        pictures, judge = tuple(self.pictures), self.recipe.judge
        requests = [
            [question.request(self.recipe.system, judge, pictures, repeat) for repeat in range(judge.repeats)]
            for question in self.questions
        ]
        sent = [[(request, self.client.ask(request)) for request in repeats] for repeats in requests]
        return PendingAnswers(self.recipe, self.client, self.questions, sent)


@dataclass(frozen=True, slots=True)
class PendingAnswers:
    """Answers that are still to come."""

    recipe: JudgeFeature
    client: JudgeHandle
    questions: tuple[Question[Any], ...]
    sent: list[list[tuple[JudgeRequest, Future[Json]]]]

    def result(self) -> Feature:
        """Wait for all answers, and read them."""
        keys: list[Json] = []
        answers = []
        for question, requests in zip(self.questions, self.sent, strict=True):
            answers.append(
                [wait_for_answer(self.client, question, request, future, keys) for request, future in requests]
            )
        arrays, facts = self.recipe.answered(answers)
        indices = [picture.index for picture in self.sent[0][0][0].pictures]
        return Feature(
            {**arrays, "frame_indices": np.array(indices, np.int64)},
            {**facts, "model": self.recipe.judge.reported, "replies": keys},
        )


def agreement(answers: Sequence[Hashable]) -> float | None:
    """Share of pairs of repeats that agree; `None` if the question was asked once.

    >>> agreement([True, True, False])
    0.3333333333333333
    """
    count = len(answers)
    if count < 2:
        return None
    return sum(same * (same - 1) for same in Counter(answers).values()) / (count * (count - 1))
