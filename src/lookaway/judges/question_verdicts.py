"""A judge's yes-or-no answers to the questions of a bank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from lookaway.core import Abstention, ArtifactError, Json, JudgeModel, JudgeRequest, Picture, Reason, Rollout, Sampler
from lookaway.io.sampling import AtFps
from lookaway.judges.errors import Unreadable
from lookaway.judges.judge_feature import JudgeFeature, agreement
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.question_bank import QuestionBank, read_question_bank
from lookaway.judges.reply import Reply

QUESTIONS = "questions"
TOKENS_PER_QUESTION = 120
"""Enough for an answer with a long sentence of reasoning."""


class QuestionAnswer(Answer):
    """The answer to one question."""

    id: int
    reasoning: Annotated[str, Field(max_length=2000)]
    answer: Literal["yes", "no"]


class BankAnswer(Answer):
    """The answers to all questions."""

    answers: list[QuestionAnswer]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The answers to the questions of a bank, in its order."""

    bank: QuestionBank
    answers: tuple[QuestionAnswer | None, ...]
    """`None` where the reply leaves a question out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BankOfQuestions:
    """All questions of a bank in one request; the answer has each id once, or at most once if it `may_skip`."""

    bank: QuestionBank
    prompts: tuple[Prompt, ...]
    may_skip: bool
    name: ClassVar[str] = "question_verdicts"

    def request(self, system: Prompt, judge: JudgeModel, pictures: tuple[Picture, ...], repeat: int) -> JudgeRequest:
        """The request, with enough tokens for all answers."""
        return self._typed().request(system, judge, pictures, repeat)

    def read(self, reply: Reply) -> Verdicts:
        """The answers in the order of the bank; raises `Unreadable` if an id is unknown, repeated or missed."""
        answers = self._typed().read(reply).answers
        found, expected = [answer.id for answer in answers], self.bank.ids
        wrong = {
            "are missing": set() if self.may_skip and found else set(expected) - set(found),
            "were not asked": set(found) - set(expected),
            "stand there more than once": {number for number in found if found.count(number) > 1},
        }
        if problems := "; ".join(f"{_listed(ids)} {what}" for what, ids in wrong.items() if ids):
            raise Unreadable(f"Each question is answered once, by its id, but of the ids {problems}.")
        by_id = {answer.id: answer for answer in answers}
        return Verdicts(self.bank, tuple(by_id.get(number) for number in expected))

    def _typed(self) -> TypedQuestion[BankAnswer]:
        return TypedQuestion(
            name=self.name,
            prompts=self.prompts,
            answer=BankAnswer,
            material=self.bank.material(),
            more_tokens=TOKENS_PER_QUESTION * len(self.bank.questions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionVerdicts(JudgeFeature):
    """The judge's answer to each question of the rollout's `questions` artifact.

    The dimension and the right answer of a question come from the bank; the judge does not see them.
    """

    name: ClassVar[str] = "question_verdicts"
    version: ClassVar[int] = 3
    arrays: ClassVar[Mapping[str, str]] = {
        "says_yes": "bool [questions, repeats]: whether the judge says yes; false where it does not answer",
        "is_answered": "bool [questions, repeats]: whether the judge answers",
        "question_ids": "int64 [questions]: ids of the questions in their bank",
        "is_positive": "bool [questions]: whether yes is the right answer",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    frames: Annotated[Sampler, "which frames the judge sees"] = AtFps(2.0)
    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"] = (
        Prompt.named("question_verdicts"),
    )
    may_skip: Annotated[bool, "whether a reply that leaves questions out counts, or is asked for again"] = False

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """The rollout needs a readable bank of questions of limited length."""
        if QUESTIONS not in rollout.artifacts:
            return Abstention(Reason.MISSING_INPUT, f"the record of {rollout.case.id} names no bank of questions.")
        try:
            return too_long(read_question_bank(rollout.artifacts[QUESTIONS]).material())
        except ArtifactError as error:
            return Abstention(error.reason, str(error))

    def questions(self, rollout: Rollout) -> tuple[BankOfQuestions]:
        """All questions of the bank in one."""
        bank = read_question_bank(rollout.artifacts[QUESTIONS])
        return (BankOfQuestions(bank=bank, prompts=self.prompts, may_skip=self.may_skip),)

    def answered(self, answers: Sequence[Sequence[Verdicts]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One row per question, one column per repeat."""
        repeats, questions = answers[0], answers[0][0].bank.questions
        rows = list(zip(*(verdicts.answers for verdicts in repeats), strict=True))
        arrays = {
            "says_yes": np.array(
                [[said is not None and said.answer == "yes" for said in row] for row in rows], np.bool_
            ),
            "is_answered": np.array([[said is not None for said in row] for row in rows], np.bool_),
            "question_ids": np.array([question.id for question in questions], np.int64),
            "is_positive": np.array([question.is_positive for question in questions], np.bool_),
        }
        facts = {
            "dimensions": [question.dimension for question in questions],
            "questions": [question.question for question in questions],
            "reasons": [[said.reasoning if said else "" for said in verdicts.answers] for verdicts in repeats],
            "agreement": [agreement([said.answer for said in row if said]) for row in rows],
        }
        return arrays, facts


def _listed(ids: set[int]) -> str:
    return ", ".join(str(number) for number in sorted(ids)[:100])
