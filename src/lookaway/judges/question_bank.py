"""Banks of yes-or-no questions, read from files of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from lookaway.core import ArtifactError, DatasetError, Json, Reason
from lookaway.io.clip_card import read_record

MAX_QUESTIONS = 100
MAX_BYTES = 1_000_000


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class BankQuestion(_Record):
    """A question, and which answer is right for a video that remembers."""

    id: Annotated[int, Field(ge=0, le=999_999)]
    dimension: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    polarity: Literal["positive", "negative"]
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]

    @property
    def is_positive(self) -> bool:
        """Whether yes is the right answer."""
        return self.polarity == "positive"


class QuestionBank(_Record):
    """The questions about one case, in order."""

    questions: Annotated[list[BankQuestion], Field(min_length=1, max_length=MAX_QUESTIONS)]

    @model_validator(mode="after")
    def _has_unique_ids(self) -> Self:
        ids = self.ids
        repeated = sorted({number for number in ids if ids.count(number) > 1})
        if repeated:
            raise ValueError(f"the ids {', '.join(map(str, repeated))} appear more than once")
        return self

    @property
    def ids(self) -> list[int]:
        """Ids of all questions, in order."""
        return [question.id for question in self.questions]

    def material(self) -> dict[str, Json]:
        """The part that a judge sees: not which answers are right."""
        return {"questions": [{"id": question.id, "question": question.question} for question in self.questions]}


def read_question_bank(path: Path) -> QuestionBank:
    """Read a JSON file; raises `ArtifactError` if it is missing or not valid."""
    if not path.is_file():
        raise ArtifactError(Reason.MISSING_INPUT, f"{path.name}: the file of questions does not exist.")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ArtifactError(
            Reason.INVALID_INPUT,
            f"{path.name}: found {size} bytes, expected at most {MAX_BYTES} for a bank of questions.",
        )
    try:
        return read_record(path, QuestionBank)
    except DatasetError as error:
        raise ArtifactError(Reason.INVALID_INPUT, f"{path.name}: {str(error).removeprefix(f'{path}: ')}") from error
