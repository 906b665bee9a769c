"""Review files: what people decide about each question of a bank, in CSV or JSON, and the bank that follows from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from lookaway.core import Json, UserError
from lookaway.engine.question_banks import AnalysedQuestion
from lookaway.io.files import read_json, write_json
from lookaway.judges.question_bank import BankQuestion, Polarity, Provenance, QuestionBank
from lookaway.reports.export.rows import write_csv_file

DECISIONS: Final = ("accept", "reject", "edit")
SHOWN: Final = ("id", "dimension", "polarity", "question", "notes")
FILLED: Final = ("decision", "edited_question", "edited_polarity", "reason")
"""Columns for people to fill."""
COLUMNS: Final = (*SHOWN, *FILLED, "bank_sha256")
MAX_BYTES: Final = 10_000_000


def write_review(bank: QuestionBank, path: Path, notes: Mapping[int, str] | None = None) -> None:
    """Write a row for each question, with what is known about it and empty fields to fill; the suffix is the format."""
    rows = [
        {
            "id": question.id,
            "dimension": question.dimension,
            "polarity": question.polarity,
            "question": question.question,
            "notes": (notes or {}).get(question.id, ""),
            **dict.fromkeys(FILLED, ""),
            "bank_sha256": bank.content_sha256,
        }
        for question in bank.questions
    ]
    write_records(path, COLUMNS, rows)


def write_records(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as .csv or .json."""
    if path.suffix == ".json":
        write_json(path, [dict(row) for row in rows])
    elif path.suffix == ".csv":
        write_csv_file(path, columns, rows)
    else:
        raise UserError(f"{path}: the suffix selects the format: expected .csv or .json.")


def apply_review(bank: QuestionBank, path: Path) -> QuestionBank:
    """The next version of the bank; a `UserError` names every row that is not a complete decision."""
    rows = _rows(path)
    by_id = {question.id: question for question in bank.questions}
    problems: list[str] = []
    kept: list[BankQuestion] = []
    seen: set[int] = set()
    for number, row in enumerate(rows, start=1):
        where = f"row {number}"
        try:
            question = by_id[_id(row)]
            where = f"question {question.id}"
            if question.id in seen:
                raise ValueError("it has an earlier row")
            seen.add(question.id)
            if row["bank_sha256"] != bank.content_sha256:
                raise ValueError(f"the review is of another version of the bank; expected {bank.content_sha256[:12]}")
            kept += _decided(question, row, path.name)
        except KeyError:
            problems.append(f"{where}: the bank has no question {row['id']!r}")
        except ValueError as error:
            problems.append(f"{where}: {error}")
    problems += [f"question {missing}: there is no row for it" for missing in by_id if missing not in seen]
    if problems:
        raise UserError(f"{path.name}: {'; '.join(problems)}.")
    if not kept:
        raise UserError(f"{path.name}: every question is rejected, and a bank has at least one.")
    return bank.next_version(kept)


def _decided(question: BankQuestion, row: Mapping[str, str], source: str) -> Iterator[BankQuestion]:
    decision, reason = row["decision"].strip().lower(), row["reason"].strip()
    text, polarity = row["edited_question"].strip(), row["edited_polarity"].strip().lower()
    if not decision:
        raise ValueError(f"the decision is missing; expected {', '.join(DECISIONS)}")
    if decision not in DECISIONS:
        raise ValueError(f"the decision is {decision!r}; expected {', '.join(DECISIONS)}")
    if decision != "edit" and (text or polarity):
        raise ValueError(f"it is edited, but the decision is {decision}; expected edit")
    if decision != "accept" and not reason:
        raise ValueError(f"the decision is {decision}, but the reason is missing")
    if decision == "edit":
        yield _edited(question, text, polarity, Provenance(origin="edited", source=source, note=reason[:1000]))
    elif decision == "accept":
        yield question


def _edited(question: BankQuestion, text: str, polarity: str, provenance: Provenance) -> BankQuestion:
    if not text and not polarity:
        raise ValueError("the decision is edit, but neither edited_question nor edited_polarity is filled")
    if polarity and polarity not in get_args(Polarity):
        raise ValueError(f"edited_polarity is {polarity!r}; expected {' or '.join(get_args(Polarity))}")
    edited = {"question": text or question.question, "polarity": polarity or question.polarity}
    if edited == {"question": question.question, "polarity": question.polarity}:
        raise ValueError("the decision is edit, but the question and its polarity are as they were")
    return BankQuestion.model_validate({**question.model_dump(), **edited, "provenance": provenance})


def _id(row: Mapping[str, str]) -> int:
    text = row["id"].strip()
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"the id is {text!r:.40}; expected a whole number")
    return int(text)


def _rows(path: Path) -> list[dict[str, str]]:
    """All rows as text, with exactly the columns of a review."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path}: found more than {MAX_BYTES} bytes, too many for a review.")
        rows = _json_rows(path) if path.suffix == ".json" else _csv_rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: the review cannot be read: {error}.") from error
    for number, row in enumerate(rows, start=1):
        if set(row) != set(COLUMNS) or not all(isinstance(value, str) for value in row.values()):
            found = ", ".join(map(str, row))
            raise UserError(f"{path.name}: row {number} has the columns {found}; expected {', '.join(COLUMNS)}.")
    return rows


def _csv_rows(path: Path) -> list[dict[str, str]]:
    text = path.read_text(encoding="utf-8-sig")
    return [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""), strict=True)]


def _json_rows(path: Path) -> list[dict[str, str]]:
    listed: Json = read_json(path)
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise UserError(f"{path.name}: expected a list of objects, one for each question.")
    return [{**row, "id": str(row["id"])} if isinstance(row.get("id"), int) else row for row in listed]


ANALYSIS: Final = (
    "case",
    "id",
    "dimension",
    "polarity",
    "question",
    "pass_on_reference",
    "pass_on_failures",
    "discrimination",
    "retest_agreement",
    "flags",
    "reasons",
)


def analysis_rows(analysed: Sequence[AnalysedQuestion]) -> list[dict[str, Any]]:
    """A row for each question."""
    return [
        {
            "case": one.case,
            "id": one.question.id,
            "dimension": one.question.dimension,
            "polarity": one.question.polarity,
            "question": one.question.question,
            "pass_on_reference": one.item.pass_on_truth,
            "pass_on_failures": one.item.pass_on_failures,
            "discrimination": one.item.discrimination,
            "retest_agreement": one.item.retest_agreement,
            "flags": " ".join(flag.kind for flag in one.item.flags),
            "reasons": flag_notes(one),
        }
        for one in analysed
    ]


def flag_notes(one: AnalysedQuestion) -> str:
    """Why a question is flagged; empty if it is not."""
    return "; ".join(f"{flag.kind}: {flag.reason}" for flag in one.item.flags)
