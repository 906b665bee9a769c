"""Has a judge write a bank of questions about a case, from its first frame and its text."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import StringConstraints

from lookaway.core import JudgeHandle, JudgeModel, Picture, Unmeasurable
from lookaway.judges.errors import Unreadable
from lookaway.judges.judge_feature import wait_for_answer
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import Answer, TypedQuestion
from lookaway.judges.question_bank import BankQuestion, QuestionBank

SYSTEM = Prompt.named("question_writing_system")
PROMPTS = (Prompt.named("question_writing"),)
Dimension: TypeAlias = Literal[
    "Instruction Following", "Object and Background", "Continuity of Memory", "Physics Adherence"
]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
QUESTIONS_PER_DIMENSION = 6
TOKENS_PER_QUESTION = 100


class WrittenQuestion(Answer):
    """A question that the judge wrote."""

    dimension: Dimension
    polarity: Literal["positive", "negative"]
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=10, max_length=300)]


class WrittenQuestions(Answer):
    """All that it wrote."""

    questions: list[WrittenQuestion]


def write_questions(client: JudgeHandle, judge: JudgeModel, picture: Picture, prompt_text: str) -> QuestionBank:
    """Questions about a video made from a first frame and a text; raises `Unmeasurable` if there are none."""
    material = {"text of the video": prompt_text}
    if (problem := too_long(material)) is not None:
        raise Unmeasurable(problem.reason, problem.message)
    writing = TypedQuestion(
        name="question_writing",
        prompts=PROMPTS,
        answer=WrittenQuestions,
        material=material,
        more_tokens=TOKENS_PER_QUESTION * len(DIMENSIONS) * QUESTIONS_PER_DIMENSION,
        check=_check_counts,
    )
    request = writing.request(SYSTEM, judge, (picture,), 0)
    written = wait_for_answer(client, writing, request, client.ask(request), [])
    return QuestionBank(
        questions=[
            BankQuestion(id=number, dimension=entry.dimension, polarity=entry.polarity, question=entry.question)
            for number, entry in enumerate(written.questions, start=1)
        ]
    )


def _check_counts(answer: WrittenQuestions) -> None:
    """Check that each dimension has the requested number of questions, of both polarities, none repeated."""
    problems = []
    for dimension in DIMENSIONS:
        polarities = [entry.polarity for entry in answer.questions if entry.dimension == dimension]
        if len(polarities) != QUESTIONS_PER_DIMENSION:
            problems.append(f"{dimension} has {len(polarities)} questions, expected {QUESTIONS_PER_DIMENSION}")
        elif len(set(polarities)) < 2:
            problems.append(f"{dimension} has {polarities[0]} questions alone, expected both polarities")
    if len({" ".join(entry.question.casefold().split()) for entry in answer.questions}) < len(answer.questions):
        problems.append("a question is asked more than once")
    if problems:
        raise Unreadable(f"The questions are not what was asked for: {'; '.join(problems)}.")
