"""Banks of yes-or-no questions: versioned JSON files with a hash, and the published CSV files of MemoBench."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from lookaway.core import ArtifactError, DatasetError, Json, Reason, digest
from lookaway.io.dataset_files import decoded, read_limited, read_record
from lookaway.io.files import parse_json, write_json

MAX_QUESTIONS = 100
MAX_BYTES = 1_000_000

Polarity: TypeAlias = Literal["positive", "negative"]
QuestionText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Provenance(_Record):
    """Where a question comes from."""

    origin: Literal["published", "generated", "edited"]
    source: Annotated[str, Field(max_length=300)]
    """The file, or the model that wrote it."""
    note: Annotated[str, Field(max_length=1000)] = ""
    """Why it was edited."""


class BankQuestion(_Record):
    """A question, and which answer is right for a video that remembers."""

    id: Annotated[int, Field(ge=0, le=999_999)]
    dimension: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    polarity: Polarity
    question: QuestionText
    provenance: Provenance | None = None

    @property
    def is_positive(self) -> bool:
        """Whether yes is the right answer."""
        return self.polarity == "positive"


class QuestionBank(_Record):
    """The questions about one case, in order."""

    bank: Annotated[str, Field(max_length=200)] = ""
    """Name of the bank in all its versions; empty in a file of questions alone."""
    version: Annotated[int, Field(ge=1, le=999_999)] = 1
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Hash of everything else, checked where there is one."""
    questions: Annotated[list[BankQuestion], Field(min_length=1, max_length=MAX_QUESTIONS)]

    @model_validator(mode="after")
    def _has_unique_ids(self) -> Self:
        ids = self.ids
        repeated = sorted({number for number in ids if ids.count(number) > 1})
        if repeated:
            raise ValueError(f"the ids {', '.join(map(str, repeated))} appear more than once")
        if self.sha256 is not None and self.sha256 != self.content_sha256:
            raise ValueError(
                f"the content has the hash {self.content_sha256[:12]}, but the file says {self.sha256[:12]}: it was "
                "changed. Change a bank by a review, which makes its next version"
            )
        return self

    @property
    def ids(self) -> list[int]:
        """Ids of all questions, in order."""
        return [question.id for question in self.questions]

    @property
    def content_sha256(self) -> str:
        """Hash of name, version and questions, provenance included."""
        return digest(self.model_dump(mode="json", exclude={"sha256"}, exclude_none=True))

    def material(self) -> dict[str, Json]:
        """The part that a judge sees: not which answers are right."""
        return {"questions": [{"id": question.id, "question": question.question} for question in self.questions]}

    def next_version(self, questions: Sequence[BankQuestion]) -> QuestionBank:
        """The bank with other questions."""
        return QuestionBank(bank=self.bank, version=self.version + 1, questions=list(questions))


def write_question_bank(bank: QuestionBank, path: Path) -> None:
    """Write a JSON file, with the hash of its content."""
    write_json(path, {**bank.model_dump(mode="json", exclude_none=True), "sha256": bank.content_sha256})


def read_question_bank(path: Path) -> QuestionBank:
    """Read a JSON file, or the final questions of a published CSV file; raises `ArtifactError` if it is not valid."""
    _check_size(path)
    if path.suffix == ".csv":
        return read_published_bank(path).final
    try:
        return read_record(path, QuestionBank)
    except DatasetError as error:
        raise ArtifactError(Reason.INVALID_INPUT, f"{path.name}: {str(error).removeprefix(f'{path}: ')}") from error


def _check_size(path: Path) -> None:
    if not path.is_file():
        raise ArtifactError(Reason.MISSING_INPUT, f"{path.name}: the file of questions does not exist.")
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ArtifactError(
            Reason.INVALID_INPUT,
            f"{path.name}: found {size} bytes, expected at most {MAX_BYTES} for a bank of questions.",
        )


PUBLISHED_NAME: Final = re.compile(r"(?P<name>(?P<scene>.+)-(?P<number>\d{1,9}))-questions\.csv")
STAGES: Final = {
    "ground_truth": "Evaluation on ground truth",
    "failure": "Evaluation on failure",
    "failure_with_hint": "Revised Evaluation on failure",
}
"""Columns of answers; the second look at the failure names its error to the judge."""
WRITTEN, FINAL = "Start Questions", "Final questions"


class _PublishedQuestion(_Record):
    ID: int
    dimension: Annotated[str, Field(alias="Dimension")]
    polarity: Annotated[Literal["Positive", "Negative"], Field(alias="Dimension Polarity")]
    question: Annotated[str, Field(alias="Question")]


class _PublishedAnswer(_PublishedQuestion):
    answer: Annotated[Literal["Yes", "No"], Field(alias="Answer")]
    verdict: Annotated[Literal["Pass", "Fail"], Field(alias="Verdict")]
    reasoning: Annotated[str, Field(alias="Reasoning")]


_Entry = TypeVar("_Entry", bound=_PublishedQuestion)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """An answer in a published file."""

    id: int
    says_yes: bool
    is_stated_pass: bool
    """The judge's own verdict, which may contradict its answer."""
    reasoning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBank:
    """A published file: the questions as written, those that were kept, and the answers that decided."""

    scene: str
    number: int
    written: QuestionBank
    final: QuestionBank
    answers: Mapping[str, tuple[StoredAnswer, ...]]
    """By stage: `ground_truth`, `failure`, `failure_with_hint`."""

    def passes(self, stage: str) -> dict[int, bool]:
        """Which questions pass, by the polarity in the bank and the answer, as the published scorer decides."""
        positive = {question.id: question.is_positive for question in self.written.questions}
        return {answer.id: answer.says_yes == positive[answer.id] for answer in self.answers[stage]}

    def stated_passes(self, stage: str) -> dict[int, bool]:
        """Which questions pass by the judge's own verdict, which the published filter uses."""
        return {answer.id: answer.is_stated_pass for answer in self.answers[stage]}

    def contradictions(self, stage: str) -> list[int]:
        """Ids of questions where the two differ."""
        stated = self.stated_passes(stage)
        return [number for number, is_pass in self.passes(stage).items() if stated[number] != is_pass]


def read_published_bank(path: Path) -> PublishedBank:
    """Read `{scene}-{video_id}-questions.csv`; raises `ArtifactError` if it is missing or not valid."""
    _check_size(path)
    try:
        return _published(path)
    except (ValueError, csv.Error, DatasetError) as error:
        raise ArtifactError(Reason.INVALID_INPUT, f"{path.name}: {error}") from error


def _published(path: Path) -> PublishedBank:
    match = PUBLISHED_NAME.fullmatch(path.name)
    if match is None:
        raise ValueError("expected a name like Havana-1-questions.csv.")
    text = decoded(read_limited(path, MAX_BYTES, path.name), path.name).removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    if len(rows) != 1:
        raise ValueError(f"found {len(rows)} rows of data, expected 1.")
    row = rows[0]
    if f"{row.get('scene')}-{row.get('video_id')}" != match["name"]:
        raise ValueError(f"the row is about another clip, expected {match['name']} in scene and video_id.")
    banks = {column: _bank(_entries(row, column, _PublishedQuestion), match["name"]) for column in (WRITTEN, FINAL)}
    written = {question.id: question for question in banks[WRITTEN].questions}
    if changed := [question.id for question in banks[FINAL].questions if written.get(question.id) != question]:
        raise ValueError(f"{FINAL}: {_listed(changed)} are not among {WRITTEN}.")
    answers = {stage: _answers(row, column, set(written)) for stage, column in STAGES.items()}
    return PublishedBank(
        scene=match["scene"],
        number=int(match["number"]),
        written=banks[WRITTEN],
        final=banks[FINAL],
        answers=answers,
    )


def _bank(entries: Sequence[_PublishedQuestion], name: str) -> QuestionBank:
    provenance = Provenance(origin="published", source=f"{name}-questions.csv")
    questions = [
        BankQuestion(
            id=entry.ID,
            dimension=entry.dimension,
            polarity="positive" if entry.polarity == "Positive" else "negative",
            question=entry.question,
            provenance=provenance,
        )
        for entry in entries
    ]
    return QuestionBank(bank=name, questions=questions)


def _answers(row: Mapping[str, Any], column: str, known: set[int]) -> tuple[StoredAnswer, ...]:
    entries = _entries(row, column, _PublishedAnswer)
    ids = [entry.ID for entry in entries]
    if wrong := {number for number in ids if number not in known or ids.count(number) > 1}:
        raise ValueError(f"{column}: {_listed(wrong)} are not among {WRITTEN}, or are answered more than once.")
    return tuple(
        StoredAnswer(
            id=entry.ID,
            says_yes=entry.answer == "Yes",
            is_stated_pass=entry.verdict == "Pass",
            reasoning=entry.reasoning,
        )
        for entry in entries
    )


def _entries(row: Mapping[str, Any], column: str, kind: type[_Entry]) -> list[_Entry]:
    text = row.get(column)
    if not isinstance(text, str):
        raise ValueError(f"there is no column {column!r}.")
    listed = parse_json(text, column)
    if not isinstance(listed, list):
        raise ValueError(f"{column}: found {type(listed).__name__}, expected a list of questions.")
    try:
        return [kind.model_validate(entry) for entry in listed]
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{column}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def _listed(ids: set[int] | list[int]) -> str:
    return f"the ids {', '.join(map(str, sorted(ids)))}"
